#include <nanobind/stl/string.h>

#include "convert.hpp"

namespace weft::python {
namespace {

using Binary = Tensor (*)(const Tensor&, const Tensor&);

/// Whether an operator shall try: others may know better what to do with us.
bool is_operand(nb::handle value) {
  if (is_number(value) || nb::isinstance<Array>(value) || nb::isinstance<nb::list>(value) ||
      nb::isinstance<nb::tuple>(value))
    return true;
  // A higher priority than that of tensors says who computes, as in numpy: a weft.Complex does.
  double priority = 0;
  if (nb::hasattr(value, "__array_priority__") &&
      nb::try_cast(value.attr("__array_priority__"), priority, true) && priority > 1000)
    return false;
  return nb::hasattr(value, "__array__") || nb::hasattr(value, "__dlpack__");
}

nb::object not_mine() { return nb::borrow(Py_NotImplemented); }

Tensor add(const Tensor& a, const Tensor& b) { return a + In(b, nowhere); }
Tensor sub(const Tensor& a, const Tensor& b) { return a - In(b, nowhere); }
Tensor mul(const Tensor& a, const Tensor& b) { return a * In(b, nowhere); }
Tensor divide(const Tensor& a, const Tensor& b) { return a / In(b, nowhere); }
template <Tensor (*function)(In, const Operand&)>
Tensor plain(const Tensor& a, const Tensor& b) {
  return function({a, nowhere}, b);
}

/// The same of numbers: two booleans count as int8, as in numpy.
template <Binary function>
Tensor counted(const Tensor& a, const Tensor& b) {
  if (a.dtype() != DType::boolean || b.dtype() != DType::boolean) return function(a, b);
  return function(a.to(DType::i8, nowhere), b.to(DType::i8, nowhere));
}

/// Whether any exponent is negative; not known while a function is being compiled.
bool any_negative(const Tensor& exponents) {
  if (is_unsigned(exponents.dtype()) || tracing() || exponents.size() == 0) return false;
  const Tensor zero = exponents.device().full({}, 0, exponents.dtype(), nowhere);
  return any({less({exponents, nowhere}, zero), nowhere}).item<bool>();
}

/// Powers of integers are integers, so that an exponent below 0 is an error, as in numpy.
Tensor power(const Tensor& a, const Tensor& b) {
  const DType type = promote(a.dtype(), b.dtype());
  if (is_float(type) || is_quantized(type)) return pow({a, nowhere}, b);
  if (any_negative(b))
    raise_value("Integers have no powers with negative exponents; make floats of them first.");
  const DType held = type == DType::boolean ? DType::i8 : type;
  return pow({a.to(held, nowhere), nowhere}, b);
}

/// The same for an exponent that is known.
Tensor power_of(const Tensor& a, nb::handle exponent) {
  int overflow = 0;
  long long rest = PyLong_AsLongLongAndOverflow(exponent.ptr(), &overflow);
  if (rest < 0 || overflow < 0) {
    raise_value("Integers have no powers with negative exponents; make floats of them first.");
  }
  if (overflow > 0) raise_overflow("pow(): the exponent is larger than an int64.");
  const Tensor base = a.dtype() == DType::boolean ? a.to(DType::i32, nowhere) : a;
  Tensor square = base;
  Tensor result;
  for (; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result = result ? result * In(square, nowhere) : square;
    if (rest > 1) square = square * In(square, nowhere);
  }
  return result ? result : a.device().full(a.shape(), 1, base.dtype(), nowhere);
}

/// Numbers beside floats need no tensor of their own.
template <Binary function>
Tensor with_number(const Tensor& a, double b, bool reflected) {
  if constexpr (function == add) {
    return In(a, nowhere) + b;
  } else if constexpr (function == mul) {
    return In(a, nowhere) * b;
  } else {
    static_assert(function == sub);
    return reflected ? b - In(a, nowhere) : In(a, nowhere) - b;
  }
}

template <Binary function>
Tensor calculate(const char* name, const Tensor& self, nb::handle other, bool reflected) {
  if (Array* array = nullptr; nb::try_cast(other, array, false) && array != nullptr) {
    return reflected ? function(array->now, self) : function(self, array->now);
  }
  if constexpr (function == add || function == sub || function == mul) {
    if (is_float(self.dtype()) && is_number(other)) {
      const double number = float_beside(other, name);
      return with_number<function>(self, number, reflected);
    }
  }
  if constexpr (function == power) {
    if (!reflected && PyLong_Check(other.ptr()) && !is_float(self.dtype())) {
      return power_of(self, other);
    }
    if (!reflected && is_number(other) && is_float(self.dtype())) {  // exact where it can be
      return pow({self, nowhere}, float_beside(other, name));
    }
  }
  // Quotients are floats, so that a number need not be one of the type beside it.
  const DType beside = function == divide && !is_float(self.dtype()) ? DType::f32 : self.dtype();
  const Device device = self.device();
  const Tensor that = is_number(other) ? number_beside(other, device, beside, {name, "x"})
                                       : tensor_beside(other, &device, {name, "x"});
  return reflected ? function(that, self) : function(self, that);
}

template <Binary function>
void add_operator(nb::class_<Array>& tensor, const std::string& name) {
  const auto text = [&](const char* before) { return "__" + std::string(before) + name + "__"; };
  static const std::string plain_name = name;
  static const std::string in_place = text("i");
  tensor.def(
      text("").c_str(),
      [](const Array& self, nb::handle other) -> nb::object {
        if (!is_operand(other)) return not_mine();
        const Building lock;
        return nb::cast(wrap(calculate<function>(plain_name.c_str(), self.now, other, false)));
      },
      nb::is_operator());
  tensor.def(
      text("r").c_str(),
      [](const Array& self, nb::handle other) -> nb::object {
        if (!is_operand(other)) return not_mine();
        const Building lock;
        return nb::cast(wrap(calculate<function>(plain_name.c_str(), self.now, other, true)));
      },
      nb::is_operator());
  tensor.def(
      text("i").c_str(),
      [](nb::handle self, nb::handle other) -> nb::object {
        if (!is_operand(other)) return not_mine();
        const Building lock;
        replace(self,
                calculate<function>(plain_name.c_str(), nb::cast<Array&>(self).now, other, false),
                in_place.c_str());
        return nb::borrow(self);
      },
      nb::is_operator());
}

/// A comparison with a whole number that the type of the tensor may not hold.
Tensor compare(Binary function, const char* name, const Tensor& self, nb::handle other) {
  if (!PyLong_Check(other.ptr()) || PyBool_Check(other.ptr()) || is_float(self.dtype()) ||
      is_quantized(self.dtype())) {
    const Device device = self.device();
    const Tensor that = is_number(other) ? number_beside(other, device, self.dtype(), {name, "x"})
                                         : tensor_beside(other, &device, {name, "x"});
    return function(self, that);
  }
  int overflow = 0;
  (void)PyLong_AsLongLongAndOverflow(other.ptr(), &overflow);
  if (overflow != 0) {  // beyond all elements: they compare as 0 does with 1, or with -1
    const Tensor zeros = self.device().full(self.shape(), 0, DType::i32, nowhere);
    return function(zeros, self.device().full({}, overflow, DType::i32, nowhere));
  }
  const Tensor wide = self.to(DType::i64, nowhere);
  return function(wide, number_beside(other, self.device(), DType::i64, {name, "x"}));
}

template <Binary function>
void add_comparison(nb::class_<Array>& tensor, const char* name) {
  static const char* const called = name;
  tensor.def(
      name,
      [](const Array& self, nb::handle other) -> nb::object {
        if (!is_operand(other)) return not_mine();
        const Building lock;
        return nb::cast(wrap(compare(function, called, self.now, other)));
      },
      nb::is_operator());
}

template <Tensor (*function)(In)>
void add_unary(nb::class_<Array>& tensor, const char* name) {
  tensor.def(name, [](const Array& self) {
    const Building lock;
    return wrap(function({self.now, nowhere}));
  });
}

Tensor negative(In x) {
  if (x.tensor.dtype() == DType::boolean)
    raise_type("-x of booleans is nothing; ~x turns them round.");
  return -x;
}
Tensor inverted(In x) {
  if (is_float(x.tensor.dtype()))
    raise_type("~x needs integers or booleans; the tensor holds " +
               std::string(name(x.tensor.dtype())) + ".");
  return bitwise_not(x);
}

template <Tensor (*function)(In, const Operand&)>
Tensor bits(const Tensor& a, const Tensor& b) {
  for (const Tensor* t : {&a, &b}) {
    if (is_float(t->dtype()))
      raise_type("Operations on bits need integers or booleans; a tensor holds " +
                 std::string(name(t->dtype())) + ".");
  }
  return function({a, nowhere}, b);
}

}  // namespace

void add_operators(nb::class_<Array>& tensor) {
  add_operator<add>(tensor, "add");
  add_operator<sub>(tensor, "sub");
  add_operator<mul>(tensor, "mul");
  add_operator<divide>(tensor, "truediv");
  add_operator<counted<plain<floor_divide>>>(tensor, "floordiv");
  add_operator<counted<plain<remainder>>>(tensor, "mod");
  add_operator<power>(tensor, "pow");
  add_operator<bits<bitwise_and>>(tensor, "and");
  add_operator<bits<bitwise_or>>(tensor, "or");
  add_operator<bits<bitwise_xor>>(tensor, "xor");
  add_operator<counted<bits<left_shift>>>(tensor, "lshift");
  add_operator<counted<bits<right_shift>>>(tensor, "rshift");
  add_comparison<plain<equal>>(tensor, "__eq__");
  add_comparison<plain<not_equal>>(tensor, "__ne__");
  add_comparison<plain<less>>(tensor, "__lt__");
  add_comparison<plain<less_equal>>(tensor, "__le__");
  add_comparison<plain<greater>>(tensor, "__gt__");
  add_comparison<plain<greater_equal>>(tensor, "__ge__");
  add_unary<negative>(tensor, "__neg__");
  add_unary<inverted>(tensor, "__invert__");
  add_unary<abs>(tensor, "__abs__");
  tensor.def("__pos__", [](const Array& self) {
    const Building lock;
    // What a variable holds now, whatever it will hold later.
    return wrap(self.variable ? map("copy", {self.now, nowhere}) : self.now);
  });
}

}  // namespace weft::python

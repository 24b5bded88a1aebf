#include "ops/map/map.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/iterate.hpp"
#include "ops/map/flat.hpp"
#include "ops/map/transpose.hpp"
#include "ops/slow_access.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::map {
namespace {

constexpr std::array<std::string_view, 3> input_names{"a", "b", "c"};

struct Variant {
  std::string_view function;
  DType domain = DType::f32;  // the type the function is computed in: f32, i32 or u32
  std::uint32_t inputs = 0;
  std::string_view a_kind = "none";  // vec, splat, step, none
  std::string_view b_kind = "none";
  std::string_view c_kind = "none";
  DType y_dtype = DType::f32;
  std::uint32_t rank = 1;
  std::uint32_t chunk = 1;  // elements per chunk: 8, 4, 2 or 1
  bool ragged = false;
  bool arange = false;
};

struct Params {
  std::array<std::uint32_t, 4> s{};  // scalars of the function, as bit patterns in the domain type
  std::uint32_t chunks = 0;
  std::uint32_t whole_chunks = 0;
  std::uint32_t count = 0;
  std::uint32_t inner0 = 0;  // element step of each input inside a chunk
  std::uint32_t inner1 = 0;
  std::uint32_t inner2 = 0;
  std::array<std::uint32_t, max_rank> shape{};  // in chunks along the innermost dimension
  std::array<std::uint32_t, max_rank> stride0{};
  std::array<std::uint32_t, max_rank> stride1{};
  std::array<std::uint32_t, max_rank> stride2{};
  std::array<std::uint32_t, max_rank> stride_y{};
};

DType domain_of(DType type) {
  if (is_float(type)) return DType::f32;
  return is_unsigned(type) ? DType::u32 : DType::i32;
}

/// The type that a function of these inputs is computed in: floats win over integers, signed over
/// unsigned. The condition of `where` does not count.
DType domain_of(const Function& function, std::span<const View> inputs, const View& y) {
  if (inputs.empty()) return domain_of(y.dtype);
  DType domain = DType::u32;
  for (const View& view : inputs.subspan(function.family == Family::ternary ? 1 : 0)) {
    const DType mine = domain_of(view.dtype);
    if (mine == DType::f32) domain = mine;
    if (mine == DType::i32 && domain == DType::u32) domain = mine;
  }
  return domain;
}

/// A scalar as the bits of its domain type. Arithmetic of integers goes round their range, so -1 is
/// a number to add to u32; the limits of `clamp` stop at the range's ends.
std::uint32_t scalar_bits(double value, DType domain, bool round) {
  if (domain == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  constexpr double most = 9007199254740992.0;  // whole numbers up to here are exact
  if (round && std::abs(value) <= most) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
  }
  if (std::isnan(value)) return 0;
  if (domain == DType::i32) {
    return static_cast<std::uint32_t>(
        static_cast<std::int32_t>(std::clamp(value, -2147483648.0, 2147483647.0)));
  }
  return static_cast<std::uint32_t>(std::clamp(value, 0.0, 4294967295.0));
}

/// The scalars of a piece whose output is `y`; a piece of an arange further on starts at its own
/// first value.
std::array<std::uint32_t, 4> scalars_of(const Args& args, const View& y, const Function& function,
                                        DType domain) {
  Scalars scalars = args.scalars;
  if (function.name == "arange") {
    const std::uint64_t first = (y.offset - args.y.offset) / size_of(y.dtype) /
                                std::max<std::uint64_t>(args.y.stride[0], 1);
    scalars[0] += static_cast<double>(first) * scalars[1];
  }
  std::array<std::uint32_t, 4> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = scalar_bits(scalars[i], domain, function.name != "clamp");
  }
  return bits;
}

/// True when every chunk of `chunk` innermost elements is contiguous and aligned enough for vector
/// access.
bool steps_in_chunks(const View& view, std::uint32_t chunk) {
  const std::uint32_t inner = view.rank - 1;
  if (view.stride[inner] != 1) return false;
  const std::uint64_t bytes =
      std::min<std::uint64_t>(16, std::uint64_t{chunk} * size_of(view.dtype));
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i < inner; ++i) {
    if (view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

struct Chunking {
  std::uint32_t chunk = 1;
  bool ragged = false;
  bool atomic = false;
};

/// Whether an invocation is to have a single element.
bool words_apart(std::span<const View> views, const Caps& caps) {
  return slow_access(caps) && views.front().rank == 1 &&
         std::ranges::all_of(views, [](const View& view) { return size_of(view.dtype) == 4; });
}

/// The widest chunks in which the output can be stored.
Chunking choose_chunking(std::span<const View> views, const Caps& caps) {
  const View& y = views.front();
  // Neighbouring invocations then access neighbouring words.
  if (words_apart(views, caps)) return {};
  const std::uint64_t inner = y.shape[y.rank - 1];
  // Chunks of eight are for tensors of two-byte elements alone: beside a wider one they would make
  // its accesses two vectors apart.
  const bool narrow = std::ranges::all_of(
      views, [&](const View& v) { return size_of(v.dtype) < 4 || v.stride[v.rank - 1] == 0; });
  const auto fits = [&](std::uint32_t chunk) {
    return steps_in_chunks(y, chunk) && (y.rank == 1 || inner % chunk == 0);
  };
  if (narrow && fits(8)) return {.chunk = 8};
  if (fits(4)) return {.chunk = 4};
  const std::uint32_t per_word = size_of(y.dtype) >= 4 ? 1 : 4 / size_of(y.dtype);
  if (per_word == 1) return {};
  if (fits(per_word)) return {.chunk = per_word};
  if (y.is_dense() && y.offset % 4 == 0) return {.chunk = per_word, .ragged = true};
  return {.atomic = true};
}

/// Same-type copies move bits: f32 as u32, f16 as bf16 (whose access is integer arithmetic), i64 as
/// pairs of u32, so that no float unit can change a denormal or a NaN.
void copy_as_bits(std::span<View> views) {
  const DType type = views.front().dtype;
  for (View& view : views) {
    if (type == DType::f32) view.dtype = DType::u32;
    if (type == DType::f16) view.dtype = DType::bf16;
    if (type != DType::i64) continue;
    for (std::uint32_t i = 0; i < view.rank; ++i) view.stride[i] *= 2;
    view.shape[view.rank] = 2;
    view.stride[view.rank] = 1;
    ++view.rank;
    view.dtype = DType::u32;
  }
}

/// Collapsed copies of 1- and 2-byte elements whose rows are whole, aligned words move as words.
void copy_as_words(std::span<View> views) {
  const std::uint32_t bytes = size_of(views.front().dtype);
  if (bytes >= 4) return;
  const std::uint32_t per_word = 4 / bytes;
  const std::uint32_t inner = views.front().rank - 1;
  for (const View& view : views) {
    if (view.stride[inner] != 1 || view.shape[inner] % per_word != 0 || view.offset % 4 != 0)
      return;
    for (std::uint32_t i = 0; i < inner; ++i) {
      if (view.stride[i] % per_word != 0) return;
    }
  }
  for (View& view : views) {
    view.dtype = DType::u32;
    view.shape[inner] /= per_word;
    for (std::uint32_t i = 0; i < inner; ++i) view.stride[i] /= per_word;
  }
}

Status check(const Args& args, const Function* function) {
  if (function == nullptr) {
    return fail(ErrorCode::not_found, "There is no elementwise function named `{}`.",
                args.function);
  }
  if (args.inputs.size() != function->inputs) {
    return fail(ErrorCode::invalid_argument, "Function `{}` takes {} inputs; {} were given.",
                args.function, function->inputs, args.inputs.size());
  }
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (const Status ok = validate(args.inputs[i], input_names[i]); !ok) return ok;
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  const DType domain = domain_of(*function, args.inputs, args.y);
  if (!function->integers && domain != DType::f32) {
    return fail(
        ErrorCode::unsupported, "Function `{}` is defined for floats only; the inputs are {}.",
        args.function,
        args.inputs.empty() ? std::string(name(args.y.dtype)) : describe(args.inputs.front()));
  }
  if (args.function == "arange" && args.y.rank != 1) {
    return fail(ErrorCode::invalid_argument,
                "arange fills a tensor of one dimension; the output is {}.", describe(args.y));
  }
  return {};
}

/// An input may share memory with the output only as the same view; anything else would read what
/// was overwritten.
Status check_overlap(const View& input, const View& y, std::string_view input_name) {
  if (input.slot != y.slot || input.empty() || y.empty()) return {};
  const ByteRange a = input.bytes();
  const ByteRange b = y.bytes();
  if (a.end <= b.begin || b.end <= a.begin) return {};
  bool same = input.offset == y.offset && size_of(input.dtype) == size_of(y.dtype);
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    same = same && (y.shape[i] == 1 || input.stride[i] == y.stride[i]);
  }
  // Interleaved views (the two halves of every row, say) span the same bytes without sharing an
  // element when their strides agree and they start at different places inside the innermost step.
  if (!same && input.offset != y.offset && size_of(input.dtype) == size_of(y.dtype)) {
    bool interleaved = true;
    std::uint64_t row = 0;
    for (std::uint32_t i = 0; i < y.rank; ++i) {
      interleaved = interleaved && (y.shape[i] == 1 || input.stride[i] == y.stride[i]);
      if (y.shape[i] > 1) row = std::max(row, y.stride[i]);
    }
    View inner_y = y;
    for (std::uint32_t i = 0; i < y.rank; ++i) {
      if (y.stride[i] == row) inner_y.shape[i] = 1;
    }
    const std::uint64_t extent = inner_y.bytes().size();
    const std::uint64_t gap =
        input.offset > y.offset ? input.offset - y.offset : y.offset - input.offset;
    same = interleaved && gap >= extent && gap + extent <= row * size_of(y.dtype);
  }
  if (same) return {};
  return fail(
      ErrorCode::invalid_argument,
      "Input `{}` ({}) overlaps the output ({}) in the same buffer without being the same view.",
      input_name, describe(input), describe(y));
}

Status can_any(const Piece&, const Caps&) { return {}; }
bool always(const Piece&, const Caps&) { return true; }

/// Tensors of any kind.
Result<Dispatch> launch_any(const Piece& piece, const Caps& caps) {
  const View& y = piece.y();
  const Chunking chunking = choose_chunking(piece.views, caps);
  const std::uint32_t inner = y.rank - 1;
  const std::uint64_t count = y.count();

  Params params;
  params.s = piece.scalars;
  params.count = static_cast<std::uint32_t>(count);
  params.chunks = static_cast<std::uint32_t>(ceil_div<std::uint64_t>(count, chunking.chunk));
  params.whole_chunks = static_cast<std::uint32_t>(count / chunking.chunk);
  for (std::uint32_t i = 0; i < y.rank; ++i)
    params.shape[i] = static_cast<std::uint32_t>(y.shape[i]);

  Variant mine{.function = piece.function,
               .domain = piece.domain,
               .inputs = static_cast<std::uint32_t>(piece.inputs().size()),
               .y_dtype = y.dtype,
               .rank = y.rank,
               .chunk = chunking.chunk,
               .ragged = chunking.ragged,
               .arange = piece.function == "arange"};
  // Ragged chunks are located element by element, so their dimensions stay in elements.
  const std::uint32_t scale = chunking.ragged ? 1 : chunking.chunk;
  if (y.rank > 1 && !chunking.ragged) params.shape[inner] /= scale;

  Launch launch;
  const auto words = [&](const View& view) {
    return std::min<std::uint32_t>(
        4, std::max<std::uint32_t>(1, chunking.chunk * size_of(view.dtype) / 4));
  };
  std::array<std::string_view*, 3> kinds{&mine.a_kind, &mine.b_kind, &mine.c_kind};
  std::array<std::uint32_t*, 3> inner_steps{&params.inner0, &params.inner1, &params.inner2};
  std::array<std::array<std::uint32_t, max_rank>*, 3> strides{&params.stride0, &params.stride1,
                                                              &params.stride2};
  for (std::size_t k = 1; k < piece.views.size(); ++k) {
    const View& view = piece.views[k];
    const bool vec =
        chunking.chunk > 1 && !chunking.ragged && steps_in_chunks(view, chunking.chunk);
    *kinds[k - 1] = vec ? "vec" : view.stride[inner] == 0 ? "splat" : "step";
    *inner_steps[k - 1] = static_cast<std::uint32_t>(view.stride[inner]);
    for (std::uint32_t i = 0; i < y.rank; ++i) {
      (*strides[k - 1])[i] = static_cast<std::uint32_t>(view.stride[i] * (i == inner ? scale : 1));
    }
    launch.operands.push_back({.name = input_names[k - 1],
                               .view = view,
                               .access = Access::read,
                               .unit = vec ? (view.dtype == DType::i64 ? 1 : words(view)) : 1});
  }
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    params.stride_y[i] = static_cast<std::uint32_t>(y.stride[i] * (i == inner ? scale : 1));
  }
  launch.operands.push_back(
      {.name = "y",
       .view = y,
       .access = chunking.atomic ? Access::atomic : Access::write,
       .unit = chunking.chunk > 1 && !chunking.ragged && y.dtype != DType::i64 ? words(y) : 1});
  launch.source = "map/map.wgsl";
  launch.label = formatted("{} {}", mine.function, name(piece.dtype));
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.chunks, workgroup_width(caps)), caps);
  launch.constants = constants_of(mine);
  launch.params = block_of(params);
  return make_dispatch(std::move(launch), caps);
}

/// Where single words are for an invocation, they are so in large tensors too.
bool worth_flat_chunks(const Piece& piece, const Caps& caps) {
  return !words_apart(piece.views, caps) && worth_flat(piece, caps);
}

/// One kernel of the op's list: `can` says why it cannot make a piece at all, `worth` whether it is
/// a good choice.
struct Kernel {
  std::string_view name;
  Status (*can)(const Piece&, const Caps&);
  bool (*worth)(const Piece&, const Caps&);
  Result<Dispatch> (*launch)(const Piece&, const Caps&);
};

constexpr Kernel transpose_kernel{"transpose", can_transpose, worth_transpose, launch_transpose};
constexpr Kernel flat_kernel{"flat", can_flat, worth_flat_chunks, launch_flat};
constexpr Kernel any_kernel{"any", can_any, always, launch_any};

// In order of preference.
constexpr std::array kernels{&transpose_kernel, &flat_kernel, &any_kernel};

/// Copies of i64 need a dimension for the two words of an element; with none to spare, each slice
/// of the shortest dimension is copied on its own.
Result<Plan> copy_slices(std::span<const View> views, const Caps& caps) {
  const auto extents = views[0].extents();
  const auto dim = static_cast<std::uint32_t>(std::ranges::min_element(extents) - extents.begin());
  Plan whole;
  for (std::uint64_t i = 0; i < extents[dim]; ++i) {
    auto part = plan(
        {.function = "copy", .inputs = {views[1].slice(dim, i, 1)}, .y = views[0].slice(dim, i, 1)},
        caps);
    if (!part) return part;
    whole.append(std::move(*part));
  }
  return whole;
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  const Function* function = find_function(args.function);
  if (const Status ok = check(args, function); !ok) return std::unexpected(ok.error());

  std::vector<View> views{args.y};
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    const auto input = args.inputs[i].broadcast_to(args.y.extents());
    if (!input) return wrap(input.error(), formatted("planning `{}`", args.function));
    if (const Status ok = check_overlap(*input, args.y, input_names[i]); !ok) {
      return std::unexpected(ok.error());
    }
    views.push_back(*input);
  }
  Plan plan;
  if (args.y.empty()) return plan;

  DType domain = domain_of(*function, args.inputs, args.y);
  collapse(views);
  if (function->name == "copy" && views[0].dtype == views[1].dtype) {
    if (views[0].dtype == DType::i64 && views[0].rank == max_rank) return copy_slices(views, caps);
    copy_as_bits(views);
    collapse(views);
    copy_as_words(views);
    domain = domain_of(views[0].dtype);
  }

  const Status done = for_each_piece(views, caps, [&](std::span<const View> given) -> Status {
    std::vector<View> views_of_piece(given.begin(), given.end());
    collapse(views_of_piece);
    const Piece piece{.views = views_of_piece,
                      .function = function->name,
                      .domain = domain,
                      .scalars = scalars_of(args, views_of_piece.front(), *function, domain),
                      .dtype = args.y.dtype};
    const auto kernel = choose_kernel(kernels, "An elementwise function", {}, piece, caps);
    if (!kernel) return std::unexpected(kernel.error());
    return plan.add((*kernel)->launch(piece, caps));
  });
  if (!done) return wrap(done.error(), formatted("planning `{}`", args.function));
  return plan;
}

}  // namespace weft::ops::map

#include <utility>

#include "base/format.hpp"
#include "ops/attention/cases.hpp"

namespace weft::ops::attention {
namespace {

void add_shapes(std::vector<Case>& out, std::string_view kernel) {
  const auto add = [&](const std::string& label, const Shape& shape, DType type = DType::f32) {
    Setup setup = make_setup(shape, type);
    setup.kernel = kernel;
    setup.has_lse = shape.queries % 2 == 1;
    out.push_back(make_case(formatted("{}_{}_{}", kernel, label, name(type)), setup));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    add("plain", {.batch = 2, .heads = 3, .queries = 33, .keys = 100, .size = 64}, type);
    add("odd", {.heads = 2, .queries = 7, .keys = 65, .size = 37, .value_size = 71}, type);
  }
  add("one", {.size = 1});
  add("wide", {.heads = 2, .queries = 5, .keys = 70, .size = 576, .value_size = 512});
  add("narrow_values", {.queries = 18, .keys = 129, .size = 192, .value_size = 128});
  add("size_40", {.heads = 2, .queries = 17, .keys = 64, .size = 40});
  add("groups",
      {.batch = 2, .heads = 6, .queries = 4, .keys = 130, .key_heads = 2, .key_batch = 1});
}

void add_rules(std::vector<Case>& out, std::string_view kernel) {
  const auto add = [&](const std::string& label, const Setup& given) {
    Setup setup = given;
    setup.kernel = kernel;
    out.push_back(make_case(formatted("{}_{}", kernel, label), setup));
  };
  const Shape shape{.batch = 2, .heads = 3, .queries = 40, .keys = 150, .size = 64};
  Setup causal = make_setup(shape);
  causal.rules.causal = true;
  causal.has_lse = true;
  add("causal", causal);
  Setup window = causal;
  window.rules.window = 20;
  add("causal_window", window);
  window.rules.causal = false;
  add("window", window);
  // More queries than keys: the first ones see nothing.
  Setup none = make_setup({.heads = 2, .queries = 50, .keys = 30, .size = 64});
  none.rules.causal = true;
  none.has_lse = true;
  add("causal_sees_nothing", none);
  Setup cap = make_setup(shape);
  cap.q.low = -4;
  cap.q.high = 4;
  cap.rules.soft_cap = 1.5F;
  add("soft_cap", cap);
  Setup sinks = causal;
  sinks.has_sinks = true;
  add("sinks", sinks);
  Setup masked = make_setup(shape);
  add_mask(masked, DType::f16, 2, 1);
  add("mask", masked);
  masked.rules.max_bias = 8;
  masked.has_sinks = true;
  add("mask_slopes", masked);
  Setup everything =
      make_setup({.batch = 4, .heads = 6, .queries = 9, .keys = 75, .key_heads = 3}, DType::f16);
  add_mask(everything, DType::f32, 2, 3);
  everything.rules = {.scale = 0.3F, .soft_cap = 2, .max_bias = 4, .causal = true, .window = 50};
  everything.has_sinks = true;
  everything.has_lse = true;
  add("everything", everything);
}

void add_layouts(std::vector<Case>& out, std::string_view kernel) {
  const auto add = [&](const std::string& label, const Setup& given) {
    Setup setup = given;
    setup.kernel = kernel;
    out.push_back(make_case(formatted("{}_{}", kernel, label), setup));
  };
  for (const DType type : {DType::f32, DType::f16}) {
    const std::string t(name(type));
    Setup permuted =
        make_setup({.batch = 2, .heads = 2, .queries = 18, .keys = 70, .size = 64}, type);
    for (TensorSpec* spec : {&permuted.q, &permuted.k, &permuted.v, &permuted.y}) {
      spec->order = {0, 2, 1, 3};
    }
    add("tokens_first_" + t, permuted);
    Setup strange =
        make_setup({.batch = 2, .heads = 2, .queries = 9, .keys = 37, .size = 36}, type);
    strange.q.order = {3, 0, 2, 1};
    strange.k.pad = 3;
    strange.v.offset = 1;
    strange.y.order = {1, 3, 0, 2};
    strange.y.offset = 3;
    add_mask(strange, type, 1, 2);
    strange.mask.order = {3, 2, 1, 0};
    add("strange_" + t, strange);
    Setup stepped = make_setup({.heads = 2, .queries = 9, .keys = 37, .size = 32}, type);
    stepped.q.step = 2;
    stepped.k.step = 3;
    stepped.y.step = 2;
    add("stepped_" + t, stepped);
  }
}

/// Kernels for matrix units: f16, with weights rounded to f16.
void add_matrix(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, const Shape& shape, auto&& change) {
    for (const std::string_view kernel : {"matrix", "slim"}) {
      const auto slim = [](std::uint64_t size) { return size % 16 == 0; };
      if (kernel == "slim" && (!slim(shape.size) || !slim(shape.value_size))) continue;
      Setup setup = make_setup(shape, DType::f16);
      setup.kernel = kernel;
      setup.has_lse = true;
      change(setup);
      out.push_back(make_case(formatted("{}_{}", kernel, label), setup));
    }
  };
  const auto nothing = [](Setup&) {};
  add("plain", {.batch = 2, .heads = 3, .queries = 33, .keys = 130, .size = 16}, nothing);
  add("sizes", {.heads = 2, .queries = 70, .keys = 65, .size = 24, .value_size = 40}, nothing);
  add("odd", {.heads = 2, .queries = 7, .keys = 70, .size = 13, .value_size = 15}, nothing);
  add("causal", {.heads = 4, .queries = 100, .keys = 150, .size = 16, .key_heads = 2},
      [](Setup& setup) { setup.rules.causal = true; });
  // Rows that see nothing beside rows that do, with a scale that lifts their logits.
  add("sees_nothing", {.heads = 2, .queries = 100, .keys = 30, .size = 16}, [](Setup& setup) {
    setup.rules.causal = true;
    setup.rules.scale = 0.125F;
  });
  add("window", {.heads = 2, .queries = 100, .keys = 100, .size = 16}, [](Setup& setup) {
    setup.rules.causal = true;
    setup.rules.window = 30;
  });
  add("mask", {.batch = 2, .heads = 3, .queries = 40, .keys = 150, .size = 16}, [](Setup& setup) {
    setup.q.dtype = setup.y.dtype = DType::f32;
    add_mask(setup, DType::f16, 2, 1);
    setup.rules.max_bias = 8;
    setup.rules.soft_cap = 2;
    setup.has_sinks = true;
  });
  // Masks with blocks that hide everything and blocks that change nothing.
  for (const std::uint64_t queries : {100U, 41U}) {
    add(formatted("hiding_mask_{}", queries),
        {.batch = 2, .heads = 2, .queries = queries, .keys = 150, .size = 32, .key_heads = 1},
        [](Setup& setup) { setup.hides = true; });
  }
  add("wide", {.heads = 2, .queries = 40, .keys = 70, .size = 32, .value_size = 64}, nothing);
  // Logits that outgrow the slack of the running maximum again and again.
  add("growing", {.heads = 2, .queries = 40, .keys = 400, .size = 16}, [](Setup& setup) {
    setup.q.low = -20;
    setup.q.high = 20;
    setup.k.low = -20;
    setup.k.high = 20;
    setup.rules.scale = 0.25F;
    setup.rules.causal = true;
  });
}

/// Keys and values of bf16 on matrix units, scaled to f16. Few kernels have them all, since each
/// takes software adapters seconds to compile.
void add_halves(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, const Shape& shape, auto&& change) {
    for (const std::string_view kernel : {"halves", "matrix halves"}) {
      Setup setup = make_setup(shape, DType::bf16);
      setup.kernel = kernel;
      setup.has_lse = true;
      change(setup);
      const std::string_view name = kernel == "halves" ? kernel : "matrix_halves";
      out.push_back(make_case(formatted("{}_{}", name, label), setup));
    }
  };
  const auto wide = [](TensorSpec& spec, double most) {
    spec.low = -most;
    spec.high = most;
  };
  const Shape shape{.batch = 2, .heads = 4, .queries = 50, .keys = 130, .size = 16, .key_heads = 2};
  add("plain", shape, [](Setup&) {});
  const Shape shared{.batch = 4,
                     .heads = 6,
                     .queries = 40,
                     .keys = 70,
                     .size = 16,
                     .key_heads = 1,
                     .key_batch = 2};
  add("shared", shared, [](Setup& setup) {
    setup.rules.causal = true;
    setup.q.dtype = DType::f32;
  });
  add("tokens_first", shape, [](Setup& setup) {
    setup.q.order = setup.k.order = setup.v.order = setup.y.order = {0, 2, 1, 3};
    setup.rules.window = 30;
  });
  // Values that f16 cannot hold.
  add("apart", shape, [&](Setup& setup) {
    wide(setup.q, 0x1p30);
    wide(setup.k, 0x1p-30);
  });
  add("large", {.heads = 2, .queries = 40, .keys = 600, .size = 16}, [&](Setup& setup) {
    wide(setup.v, 0x1p60);
    setup.scale = 0x1p60;
  });
  add("zeros", {.heads = 2, .queries = 20, .keys = 40, .size = 16}, [&](Setup& setup) {
    wide(setup.k, 0);
    wide(setup.v, 0);
  });
  add("sizes", {.heads = 2, .queries = 30, .keys = 65, .size = 24, .value_size = 40},
      [](Setup&) {});
}

/// The kernel for few queries.
void add_decode(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, const Shape& shape, DType type, auto&& change) {
    Setup setup = make_setup(shape, type);
    setup.kernel = "decode";
    setup.has_lse = shape.keys % 2 == 1;
    change(setup);
    out.push_back(make_case(formatted("decode_{}_{}", label, name(type)), setup));
  };
  const auto nothing = [](Setup&) {};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    add("one", {.batch = 2, .heads = 3, .keys = 131, .size = 64}, type, nothing);
    add("group", {.heads = 12, .queries = 2, .keys = 300, .size = 64, .key_heads = 2}, type,
        nothing);
    add("odd", {.heads = 3, .queries = 3, .keys = 77, .size = 37, .value_size = 71}, type, nothing);
  }
  add("wide",
      {.heads = 4, .queries = 1, .keys = 70, .size = 576, .value_size = 512, .key_heads = 1},
      DType::f16, nothing);
  add("tiny", {.heads = 2, .queries = 2, .keys = 3, .size = 1}, DType::f32, nothing);
  add("rules", {.batch = 2, .heads = 4, .queries = 3, .keys = 200, .size = 32, .key_heads = 2},
      DType::f16, [](Setup& setup) {
        setup.q.dtype = setup.y.dtype = DType::f32;
        add_mask(setup, DType::f16, 2, 1);
        setup.rules = {.scale = 0.3F, .soft_cap = 2, .max_bias = 4, .causal = true, .window = 150};
        setup.has_sinks = true;
      });
  for (const DType type : {DType::f32, DType::f16}) {
    const Shape shape{
        .heads = 6, .queries = 2, .keys = 168, .size = 40, .value_size = 48, .key_heads = 2};
    add("turned", shape, type, [type](Setup& setup) {
      setup.v.order = {0, 1, 3, 2};  // The keys of a column of values are neighbours.
      add_mask(setup, type, 1, 1);
    });
  }
  add("packed", {.heads = 4, .queries = 2, .keys = 300, .size = 96, .key_heads = 2}, DType::f32,
      [](Setup& setup) {
        setup.y.order = {0, 2, 1, 3};
        setup.packs = true;
      });
  add("long", {.heads = 2, .queries = 1, .keys = 3001, .size = 32, .key_heads = 1}, DType::f16,
      [](Setup& setup) { setup.has_sinks = true; });
}

/// The kernel for few queries and many keys on subgroups; heads of up to 64 values run where
/// subgroups have 8 invocations.
void add_stream(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, const Shape& shape, DType type, auto&& change) {
    Setup setup = make_setup(shape, type);
    setup.kernel = "stream";
    setup.has_lse = shape.keys % 2 == 1;
    change(setup);
    out.push_back(make_case(formatted("stream_{}_{}", label, name(type)), setup));
  };
  const auto nothing = [](Setup&) {};
  for (const DType type : {DType::f16, DType::bf16}) {
    add("one", {.batch = 2, .heads = 3, .keys = 131, .size = 64}, type, nothing);
    add("group", {.heads = 12, .queries = 2, .keys = 300, .size = 64, .key_heads = 2}, type,
        nothing);
    add("two", {.heads = 4, .keys = 1, .size = 128, .value_size = 32, .key_heads = 2}, type,
        nothing);
  }
  add("sizes", {.heads = 3, .queries = 3, .keys = 77, .size = 40, .value_size = 56}, DType::f16,
      nothing);
  add("rules", {.batch = 2, .heads = 4, .queries = 3, .keys = 200, .size = 32, .key_heads = 2},
      DType::f16, [](Setup& setup) {
        setup.q.dtype = setup.y.dtype = DType::f32;
        add_mask(setup, DType::f16, 2, 1);
        setup.rules = {.scale = 0.3F, .soft_cap = 2, .max_bias = 4, .causal = true, .window = 150};
        setup.has_sinks = true;
      });
  add("packed", {.heads = 8, .queries = 1, .keys = 1300, .size = 64, .key_heads = 2}, DType::f16,
      [](Setup& setup) {
        setup.q.dtype = setup.y.dtype = DType::f32;
        setup.y.order = {0, 2, 1, 3};
        setup.packs = true;
      });
  add("long", {.heads = 2, .queries = 1, .keys = 3001, .size = 32, .key_heads = 1}, DType::f16,
      [](Setup& setup) { setup.has_sinks = true; });
  add("unseen", {.heads = 2, .queries = 4, .keys = 2, .size = 32}, DType::f16,
      [](Setup& setup) { setup.rules.causal = true; });
  add("growing", {.heads = 2, .keys = 500, .size = 16, .key_heads = 1}, DType::f16,
      [](Setup& setup) {
        setup.q.low = setup.k.low = -20;
        setup.q.high = setup.k.high = 20;
        setup.rules.scale = 0.25F;
      });
}

void add_large(std::vector<Case>& out) {
  // Past the 1 MiB bindings of a masked run: by batches, by heads, by queries, by keys.
  out.push_back(
      make_case("large_batches",
                make_setup({.batch = 6, .heads = 2, .queries = 70, .keys = 700, .size = 64})));
  Setup heads = make_setup({.heads = 9, .queries = 20, .keys = 900, .size = 64, .key_heads = 3});
  out.push_back(make_case("large_heads", heads));
  Setup queries = make_setup({.queries = 4200, .keys = 9, .size = 64});
  queries.has_lse = true;
  queries.rules.causal = true;
  out.push_back(make_case("large_queries", queries));
  Setup keys = make_setup({.heads = 2, .queries = 3, .keys = 9000, .size = 64});
  keys.rules.causal = true;
  keys.rules.window = 6000;
  keys.has_lse = true;
  out.push_back(make_case("large_keys", keys));
  Setup masked = make_setup({.heads = 2, .queries = 500, .keys = 800, .size = 16});
  add_mask(masked, DType::f32, 1, 1);
  out.push_back(make_case("large_mask", masked));
}

void add_edges(std::vector<Case>& out, Random& random) {
  out.push_back(make_case("empty", make_setup({.batch = 0, .queries = 4, .keys = 5})));
  out.push_back(make_case("no_queries", make_setup({.queries = 0, .keys = 5})));
  Setup none = make_setup({.heads = 2, .queries = 4, .keys = 0});
  none.has_lse = true;
  out.push_back(make_case("no_keys", none));
  Setup shared = make_setup({.heads = 2, .queries = 12, .keys = 12, .size = 32}, DType::f16);
  shared.k.same_as = 0;
  shared.v.same_as = 0;
  out.push_back(make_case("one_tensor", shared));
  for (int n = 0; n < 8; ++n) {
    Shape shape;
    shape.key_heads = random.between(1, 3);
    shape.heads = shape.key_heads * random.between(1, 3);
    shape.batch = random.between(1, 2);
    shape.queries = random.between(1, 60);
    shape.keys = random.between(1, 200);
    shape.size = random.between(1, 25) * 4;
    shape.value_size = random.between(1, 32) * 4;
    Setup setup = make_setup(shape, random.pick<DType>({DType::f32, DType::f16, DType::bf16}));
    setup.rules.causal = n % 2 == 0;
    setup.has_lse = n % 3 == 0;
    out.push_back(make_case(formatted("random_{}", n), setup));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const std::string_view kernel : {"tile"}) {
    add_shapes(out, kernel);
    add_rules(out, kernel);
    add_layouts(out, kernel);
  }
  add_matrix(out);
  add_halves(out);
  add_decode(out);
  add_stream(out);
  add_large(out);
  add_edges(out, random);
  for (Case& test : backward_cases(seed)) out.push_back(std::move(test));
  for (Case& test : bench_cases()) out.push_back(std::move(test));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"attention", "Attention without its matrix of logits, and its gradients",
          "f32 f16 bf16 (keys and values also quantized)", cases};
}

}  // namespace weft::ops::attention

#include "grad_rows.hpp"
#include "shared.hpp"

namespace weft::test {

using In = const std::vector<Tensor>&;

void add_image_rows(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({std::move(name), std::move(leaves), std::move(f)});
  };
  add("conv_1d", {{{2, 3, 7}}, {{4, 3, 3}}, {{4}}},
      [](In in) { return conv(in[0], in[1], {.windows = {.stride = {2}, .pad = {1}}}, in[2]); });
  add("conv_2d", {{{1, 2, 5, 4}}, {{3, 2, 3, 2}}}, [](In in) {
    return conv(
        in[0], in[1],
        {.windows = {.stride = {2, 1}, .pad = {1, 0}, .pad_high = {2, 1}, .dilation = {1, 2}}});
  });
  add("conv_3d", {{{1, 2, 3, 3, 3}}, {{2, 2, 2, 2, 2}}}, [](In in) { return conv(in[0], in[1]); });
  add("conv_depthwise", {{{1, 4, 5}}, {{4, 1, 3}}},
      [](In in) { return conv(in[0], in[1], {.windows = {.pad = {1}}, .groups = 4}); });
  add("conv_transpose", {{{1, 4, 3, 2}}, {{4, 2, 3, 3}}, {{4}}}, [](In in) {
    return conv_transpose(
        in[0], in[1], {.windows = {.stride = {2}, .pad = {1}}, .groups = 2, .more = {1, 0}}, in[2]);
  });
  add("max_pool", {{{1, 2, 5, 4}}},
      [](In in) { return max_pool(in[0], {3, 2}, {.stride = {2}, .pad = {1, 0}}); });
  add("avg_pool", {{{1, 2, 5, 4}}},
      [](In in) { return avg_pool(in[0], {3, 2}, {.stride = {2}, .pad = {1, 0}}); });
  add("avg_pool_all", {{{2, 1, 6}}},
      [](In in) { return avg_pool(in[0], {2}, {.pad = {1}}, true); });
  add("unfold", {{{1, 2, 4, 3}}}, [](In in) { return unfold(in[0], {2, 3}, {.pad = {1}}); });
  add("fold", {{{1, 3, 2, 2}}}, [](In in) { return fold(in[0], {4}); });
  for (const auto& [mode, name] : {std::pair{Interpolation::nearest, "nearest"},
                                   {Interpolation::linear, "linear"},
                                   {Interpolation::cubic, "cubic"}}) {
    add(std::string("resize_") + name, {{{1, 2, 3, 4}}},
        [=](In in) { return resize(in[0], 5, 3, {.mode = mode}); });
  }
  add("resize_corners", {{{1, 1, 3, 4}}}, [](In in) {
    return resize(in[0], 5, 7, {.mode = Interpolation::linear, .align_corners = true});
  });
  add("resize_antialias", {{{1, 1, 6, 5}}}, [](In in) {
    return resize(in[0], 3, 2, {.mode = Interpolation::linear, .antialias = true});
  });
}

namespace {

void add_norms(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({std::move(name), std::move(leaves), std::move(f)});
  };
  add("softmax", {{{2, 5}, -2, 2}}, [](In in) { return softmax(in[0], -1, {.scale = 0.5F}); });
  add("log_softmax", {{{2, 5}, -2, 2}}, [](In in) { return log_softmax(in[0]); });
  add("softmax_options", {{{2, 3, 4, 5}}, {{3, 2, 5}}, {{3}}}, [](In in) {
    return softmax(in[0], -1, {.scale = 0.5F, .mask = in[1], .sinks = in[2], .max_bias = 4});
  });
  add("softmax_log_sinks", {{{3, 4}}, {{1, 4}}, {{1}}},
      [](In in) { return log_softmax(in[0], -1, {.mask = in[1], .sinks = in[2]}); });
  add("layer_norm", {{{2, 6}}, {{6}}, {{6}}},
      [](In in) { return layer_norm(in[0], in[1], in[2]); });
  add("layer_norm_plain", {{{2, 6}}}, [](In in) { return layer_norm(in[0]); });
  add("layer_norm_shaped", {{{2, 3, 4}}, {{3, 1}}, {{3, 4}}},
      [](In in) { return layer_norm(in[0], in[1], in[2]); });
  add("rms_norm", {{{2, 2, 6}}, {{6}}}, [](In in) { return rms_norm(in[0], in[1]); });
  add("normalize", {{{3, 4}}}, [](In in) { return normalize(in[0]); });
  add("group_norm", {{{2, 4, 3}}, {{4}}, {{4}}},
      [](In in) { return group_norm(in[0], 2, in[1], in[2]); });
  add("group_norm_plain", {{{1, 6, 2, 2}}}, [](In in) { return group_norm(in[0], 3); });
  add("group_norm_last", {{{2, 3, 4}}, {{4}}, {{4}}},
      [](In in) { return group_norm(in[0], 2, in[1], in[2], 1e-5F, -1); });
}

void add_losses(std::vector<GradRow>& rows) {
  const auto labels = [] { return whole_numbers({3}, {2, -1, 0}); };
  rows.push_back(
      {"cross_entropy", {{{3, 4}, -2, 2}}, [=](In in) { return cross_entropy(in[0], labels()); }});
  for (const auto& [reduction, name] : {std::pair{Reduction::none, "cross_entropy_none"},
                                        {Reduction::sum, "cross_entropy_sum"},
                                        {Reduction::mean, "cross_entropy_mean"}}) {
    rows.push_back({name, {{{3, 4}, -2, 2}}, [=](In in) {
                      return cross_entropy(in[0], labels(), {reduction, 2});
                    }});
    rows.push_back({std::string(name) + "_shares", {{{3, 4}, -2, 2}, {{3, 4}, 0, 1}}, [=](In in) {
                      return cross_entropy(in[0], softmax(in[1]), {reduction});
                    }});
  }
}

void add_sequences(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({std::move(name), std::move(leaves), std::move(f)});
  };
  add("ssm_conv", {{{2, 3, 6}}, {{3, 4}}, {{3}}},
      [](In in) { return ssm_conv(in[0], in[1], in[2], true); });
  const Leaf keys{{1, 3, 1, 4}};
  const Leaf values{{1, 3, 2, 3}};
  const Leaf decay{{1, 3, 2, 4}, 0.2, 0.9};
  const Leaf state{{1, 2, 3, 4}};
  const auto both = [](const Scanned& made) {
    return concat({made.y.reshape({18}), made.state.reshape({made.state.size()})}, 0);
  };
  add("gated_linear_attention", {keys, keys, values, decay, state}, [=](In in) {
    return both(gated_linear_attention(in[0], in[1], in[2], in[3], in[4], {.scale = 0.5F}));
  });
  const Leaf wide{{1, 3, 2, 4}};
  add("rwkv6", {wide, wide, values, decay, state, {{2, 4}}},
      [=](In in) { return both(rwkv6(in[0], in[1], in[2], in[3], in[5], in[4])); });
  add("rwkv7", {wide, wide, values, decay, state, wide, wide},
      [=](In in) { return both(rwkv7(in[0], in[1], in[2], in[3], in[5], in[6], in[4])); });
  add("gated_delta_rule", {wide, wide, values, {{1, 3, 2, 1}}, state, {{1, 3, 2}}}, [=](In in) {
    return both(gated_delta_rule(in[0], in[1], in[2], in[3], in[5], in[4],
                                 {.scale = 0.7F, .snapshots = 2}));
  });
  add("selective_scan", {keys, keys, values, {{2, 4}}, state, {{1, 3, 2}}},
      [=](In in) { return both(selective_scan(in[2], in[5], in[3], in[1], in[0], in[4])); });
  add("route", {{{3, 6}, -2, 2}},
      [](In in) { return route(in[0], 2, {.normalize = true, .scale = 2.5F}).weights; });
  add("route_chosen", {{{3, 6}, -2, 2}}, [](In in) {
    return route(in[0], 3, {.score = ExpertScore::logit, .softmax_chosen = true}).weights;
  });
  add("route_biased", {{{3, 6}, -2, 2}}, [](In in) {
    const Tensor bias = sin(api_device().arange(6));
    return route(in[0], 2, {.score = ExpertScore::sigmoid, .bias = bias}).weights;
  });
  add("hyper_combine", {{{2, 24}}, {{3}}, {{24}}},
      [](In in) { return hyper_combine(in[0], in[1], in[2], 3, 1e-3F); });
  add("hyper_read", {{{2, 3, 4}}, {{2, 3}}}, [](In in) { return hyper_read(in[0], in[1], 0.5F); });
  add("hyper_read_gated", {{{2, 3, 4}}, {{2, 3, 4}}},
      [](In in) { return hyper_read(in[0], in[1]); });
  add("hyper_write", {{{2, 4}}, {{2, 3, 4}}, {{2, 3}}, {{2, 3, 3}}},
      [](In in) { return hyper_write(in[0], in[1], in[2], in[3]); });
  add("index_scores", {{{2, 3, 2, 8}}, {{2, 5, 8}}, {{2, 3, 2}}, {{1, 3, 5}}},
      [](In in) { return index_scores(in[0], in[1], in[2], in[3]); });
}

void add_recurrent(std::vector<GradRow>& rows) {
  const auto all = [](const Recurrent& made) {
    std::vector<Tensor> parts{made.y.reshape({made.y.size()}),
                              made.state.reshape({made.state.size()})};
    if (made.cell) parts.push_back(made.cell.reshape({made.cell.size()}));
    return concat(parts, 0);
  };
  const auto lengths = [] { return whole_numbers({2}, {3, 1}); };
  const Leaf x{{3, 2, 2}};
  rows.push_back(
      {"lstm",
       {x, {{2, 8, 2}}, {{2, 8, 3}}, {{2, 8}}, {{2, 2, 3}}, {{2, 2, 2}}, {{2, 6}}, {{2, 3, 2}}},
       [=](In in) {
         return all(lstm(in[0], in[1], in[2],
                         {.bias = in[3],
                          .state = in[4],
                          .cell = in[5],
                          .lengths = lengths(),
                          .peepholes = in[6],
                          .projection = in[7],
                          .direction = Direction::both}));
       }});
  rows.push_back(
      {"lstm_steps", {x, {{2, 8, 2}}, {{2, 8, 2}}, {{2, 8}}, {{2, 2, 2}}, {{2, 2, 2}}}, [=](In in) {
         return all(lstm(in[0], in[1], in[2],
                         {.bias = in[3],
                          .recurrent_bias = in[3],
                          .state = in[4],
                          .cell = in[5],
                          .lengths = lengths(),
                          .direction = Direction::both}));
       }});
  rows.push_back({"lstm_from_nothing", {x, {{1, 12, 2}}, {{1, 12, 3}}}, [=](In in) {
                    return lstm(in[0], in[1], in[2]).y;
                  }});
  rows.push_back({"lstm_one_token", {{{1, 2, 2}}, {{1, 8, 2}}, {{1, 8, 2}}}, [=](In in) {
                    return lstm(in[0], in[1], in[2]).cell;
                  }});
  for (const std::string activation : {"tanh", "relu"}) {
    rows.push_back(
        {"rnn_" + activation, {x, {{2, 3, 2}}, {{2, 3, 3}}, {{2, 3}}, {{2, 2, 3}}}, [=](In in) {
           return all(rnn(in[0], in[1], in[2],
                          {.bias = in[3],
                           .state = in[4],
                           .lengths = lengths(),
                           .direction = Direction::both,
                           .activation = activation}));
         }});
  }
  for (const bool before_reset : {false, true}) {
    rows.push_back({before_reset ? "gru" : "gru_reset_first",
                    {x, {{1, 6, 2}}, {{1, 6, 2}}, {{1, 6}}, {{1, 6}}, {{1, 2, 2}}},
                    [=](In in) {
                      return all(gru(in[0], in[1], in[2],
                                     {.bias = in[3],
                                      .recurrent_bias = in[4],
                                      .state = in[5],
                                      .lengths = lengths(),
                                      .direction = Direction::reverse,
                                      .linear_before_reset = before_reset}));
                    }});
  }
  rows.push_back({"rnn", {x, {{1, 3, 2}}, {{1, 3, 3}}, {{1, 3}}, {{1, 2, 3}}}, [=](In in) {
                    return all(rnn(in[0], in[1], in[2],
                                   {.recurrent_bias = in[3], .state = in[4], .clip = 0.8}));
                  }});
}

}  // namespace

void add_model_rows(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({std::move(name), std::move(leaves), std::move(f)});
  };
  add_norms(rows);
  add_losses(rows);
  add_sequences(rows);
  add_recurrent(rows);
  add("attention_causal", {{{1, 2, 3, 4}}, {{1, 1, 3, 4}}, {{1, 1, 3, 4}}},
      [](In in) { return attention(in[0], in[1], in[2], {.causal = true}); });
  add("attention_capped", {{{2, 2, 2, 4}}, {{2, 2, 3, 4}}, {{2, 2, 3, 4}}},
      [](In in) { return attention(in[0], in[1], in[2], {.scale = 0.7F, .soft_cap = 2}); });
  add("attention_options", {{{2, 4, 3, 4}}, {{1, 2, 5, 4}}, {{1, 2, 5, 4}}, {{1, 2, 3, 5}}, {{4}}},
      [](In in) {
        const AttentionOptions options{
            .causal = true, .window = 3, .soft_cap = 3, .max_bias = 4, .sinks = in[4]};
        return attention(in[0], in[1], in[2], options, in[3]);
      });
  add("rope", {{{1, 3, 2, 4}}}, [](In in) { return rope(in[0]); });
  add("rope_pairs", {{{2, 3, 1, 6}}}, [](In in) {
    return rope(in[0], {.mode = RopeMode::interleaved, .dims = 4, .magnitude = 1.5F},
                whole_numbers({3}, {5, 0, 9}));
  });
  add("sinusoid", {{{3}, 0, 4}}, [](In in) { return sinusoid(in[0], 6, 100); });
}

/// Derivatives of derivatives: the first ones contain the kinds that exist for them alone.
void add_second_rows(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({"second_" + std::move(name), std::move(leaves),
                    [f = std::move(f)](In in) {
                      const Tensor y = f(in);
                      Tensor sum;
                      for (const Tensor& d : grad(y, sin(y), in)) {
                        const Tensor flat = d.reshape({d.size()});
                        sum = sum ? concat({sum, flat}, 0) : flat;
                      }
                      return sum;
                    },
                    5e-4});
  };
  add("softmax", {{{2, 4}, -2, 2}}, [](In in) { return softmax(in[0], -1, {.scale = 0.5F}); });
  add("log_softmax", {{{2, 4}, -2, 2}}, [](In in) { return log_softmax(in[0]); });
  add("layer_norm", {{{2, 4}}, {{4}}}, [](In in) { return layer_norm(in[0], in[1]); });
  add("group_norm", {{{1, 4, 2}}, {{4}}, {{4}}},
      [](In in) { return group_norm(in[0], 2, in[1], in[2]); });
  add("normalize", {{{2, 3}}}, [](In in) { return normalize(in[0]); });
  add("conv", {{{1, 2, 5}}, {{2, 2, 3}}}, [](In in) { return conv(in[0], in[1]); });
  add("max_pool", {{{1, 2, 4, 3}}},
      [](In in) { return max_pool(in[0], {2, 3}, {.stride = {1}, .pad = {1}}); });
  add("avg_pool", {{{1, 1, 5}}}, [](In in) { return avg_pool(in[0], {2}, {.stride = {1}}); });
  add("resize", {{{1, 1, 3, 2}}},
      [](In in) { return resize(in[0], 4, 4, {.mode = Interpolation::linear}); });
  add("tile", {{{2, 2}}}, [](In in) { return tile(in[0], {2, 3}); });
  add("embedding", {{{3, 2}}},
      [](In in) { return embedding(in[0], whole_numbers({3}, {2, 0, 2})); });
  add("checkpoint", {{{2, 3}}},
      [](In in) { return checkpoint([](In x) { return tanh(x[0] * x[0]); }, in); });
  add("cross_entropy", {{{3, 4}, -2, 2}},
      [](In in) { return cross_entropy(in[0], whole_numbers({3}, {2, -1, 0})); });
  add("attention", {{{1, 2, 2, 3}}, {{1, 1, 3, 3}}, {{1, 1, 3, 3}}},
      [](In in) { return attention(in[0], in[1], in[2], {.causal = true}); });
  add("solve", {{{2, 2}, 1, 2}, {{2, 2}}}, [](In in) { return solve_triangular(in[0], in[1]); });
  add("sort", {{{2, 3}}}, [](In in) { return sort(in[0]).values; });
  const auto lengths = [] { return whole_numbers({2}, {2, 1}); };
  const Leaf x{{2, 2, 1}};
  add("lstm", {x, {{2, 8, 1}}, {{2, 8, 2}}, {{2, 2, 2}}, {{2, 2, 2}}}, [=](In in) {
    const Recurrent made =
        lstm(in[0], in[1], in[2],
             {.state = in[3], .cell = in[4], .lengths = lengths(), .direction = Direction::both});
    return concat({made.y.reshape({made.y.size()}), made.cell.reshape({made.cell.size()})}, 0);
  });
  add("lstm_from_nothing", {x, {{1, 4, 1}}, {{1, 4, 1}}},
      [](In in) { return lstm(in[0], in[1], in[2]).y; });
  add("gru", {x, {{2, 6, 1}}, {{2, 6, 2}}, {{2, 6}}, {{2, 2, 2}}}, [=](In in) {
    return gru(in[0], in[1], in[2],
               {.recurrent_bias = in[3],
                .state = in[4],
                .lengths = lengths(),
                .direction = Direction::both})
        .y;
  });
  for (const std::string activation : {"tanh", "relu"}) {
    add("rnn_" + activation, {x, {{1, 2, 1}}, {{1, 2, 2}}, {{1, 2}}}, [=](In in) {
      return rnn(in[0], in[1], in[2],
                 {.bias = in[3],
                  .lengths = lengths(),
                  .direction = Direction::reverse,
                  .activation = activation})
          .y;
    });
  }
}

}  // namespace weft::test

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/nn/modules.hpp"
#include "capi/part.hpp"
#include "ops/map/functions.hpp"
#include "weft/c/nn.h"

namespace weft::capi {
namespace {

/// Parts that the caller has handles of, by name, and what the caller does with them.
class Custom : public nn::Layer {
 public:
  Custom(const std::vector<std::string>& names, std::vector<std::shared_ptr<nn::Layer>> parts,
         std::function<Tensor(const Tensor&)> function)
      : parts_(std::move(parts)), function_(std::move(function)) {
    for (std::size_t i = 0; i < parts_.size(); ++i) add(names[i], *parts_[i]);
  }
  [[nodiscard]] Tensor forward(const Tensor& x) override { return function_(x); }

 private:
  std::vector<std::shared_ptr<nn::Layer>> parts_;
  std::function<Tensor(const Tensor&)> function_;
};

/// A number of elements that is not 0 and that products with others do not overflow.
std::uint64_t extent(std::uint64_t value, std::string_view argument) {
  constexpr std::uint64_t most = std::uint64_t{1} << 31U;
  if (value == 0 || value > most) {
    raise(ErrorCode::invalid_argument, "`{}` is {}; it must be from 1 to {}.", argument, value,
          most);
  }
  return value;
}

/// The same, where 0 stands for something.
std::uint64_t extent_or(std::uint64_t value, std::uint64_t otherwise, std::string_view argument) {
  return value == 0 ? otherwise : extent(value, argument);
}

/// Makes a layer while nobody else uses the device.
template <class Make>
weft_status make_layer(const char* function, weft_init init, weft_module* module,
                       const Make& make) {
  return call(function, [&] {
    weft_module& out = result(module, "module");
    const auto object = get<InitObject>(init, "init");
    const auto lock = lock_of(object->init->device());
    out = put(ModuleObject{make(*object->init)});
  });
}

nn::AttentionChoices choices_of(const weft_module_attention_options& given) {
  return {.kv_heads = extent_or(given.kv_heads, 0, "options.kv_heads"),
          .causal = given.causal,
          .window = given.window,
          .rope_base = given.rope_base,
          .bias = !given.no_bias};
}

nn::RecurrentChoices choices_of(const weft_module_recurrent_options* given) {
  if (given == nullptr) return {};
  nn::RecurrentChoices out{.layers = extent_or(given->layers, 1, "options.layers"),
                           .bidirectional = given->bidirectional,
                           .batch_first = given->batch_first,
                           .bias = !given->no_bias,
                           .dropout = given->dropout,
                           .projection = extent_or(given->projection, 0, "options.projection")};
  if (given->activation != nullptr) out.activation = given->activation;
  constexpr std::uint64_t most_layers = 1024;
  if (out.layers > most_layers) {
    raise(ErrorCode::invalid_argument, "`options.layers` is {}; at most {} are possible.",
          out.layers, most_layers);
  }
  return out;
}

std::shared_ptr<nn::Layer> conv_of(nn::Init& init, std::uint64_t in, std::uint64_t out,
                                   const weft_module_conv_options& given) {
  const std::uint32_t rank = given.rank == 0 ? 2 : given.rank;
  if (rank > 3) {
    raise(ErrorCode::invalid_argument, "`options.rank` is {}; images have 1 to 3 dimensions.",
          rank);
  }
  std::vector<std::uint64_t> kernel;
  for (std::uint32_t i = 0; i < rank; ++i) {
    kernel.push_back(extent_or(given.kernel[i], 3, "options.kernel"));
  }
  const nn::ConvShape shape{
      .stride = extent_or(given.stride, 1, "options.stride"),
      .padding = extent_or(given.padding, 0, "options.padding"),
      .dilation = extent_or(given.dilation, 1, "options.dilation"),
      .groups = extent_or(given.groups, 1, "options.groups"),
      .output_padding = extent_or(given.output_padding, 0, "options.output_padding"),
      .bias = !given.no_bias};
  return std::make_shared<nn::Conv>(init, extent(in, "in"), extent(out, "out"), kernel, shape,
                                    given.transposed);
}

std::function<Tensor(const Tensor&)> activation_of(const char* name, std::string_view argument) {
  const std::string function = required(name, argument);
  if (!ops::map::find_function(function)) {
    raise(ErrorCode::not_found, "`{}` is \"{}\", which is no elementwise function.", argument,
          function);
  }
  return [function](const Tensor& x) { return map(function, x); };
}

std::vector<std::shared_ptr<nn::Layer>> layers_of(const weft_module* modules, std::uint32_t count) {
  if (count > 0) required(modules, "modules");
  std::vector<std::shared_ptr<nn::Layer>> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    out.push_back(get<ModuleObject>(modules[i], formatted("modules[{}]", i))->layer);
  }
  return out;
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_init_create(weft_device device, uint64_t seed, weft_init* init) {
  return call(__func__, [&] {
    weft_init& out = result(init, "init");
    const auto object = get<DeviceObject>(device, "device");
    out = put(InitObject{std::make_shared<nn::Init>(object->device, seed)});
  });
}

weft_status weft_init_free(weft_init init) {
  return call(__func__, [&] { drop<InitObject>(init, "init"); });
}

weft_status weft_module_linear(weft_init init, uint64_t in, uint64_t out, bool bias,
                               weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::Linear>(from, extent(in, "in"), extent(out, "out"), bias);
  });
}

weft_status weft_module_embedding(weft_init init, uint64_t count, uint64_t width,
                                  weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::Embedding>(from, extent(count, "count"), extent(width, "width"));
  });
}

weft_status weft_module_conv(weft_init init, uint64_t in, uint64_t out,
                             const weft_module_conv_options* options, weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return conv_of(from, in, out, options == nullptr ? weft_module_conv_options{} : *options);
  });
}

weft_status weft_module_batch_norm(weft_init init, uint64_t channels, double momentum, double eps,
                                   weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::BatchNorm>(from, extent(channels, "channels"),
                                           momentum == 0 ? 0.1 : momentum, eps == 0 ? 1e-5 : eps);
  });
}

weft_status weft_module_layer_norm(weft_init init, uint64_t width, float eps, bool bias,
                                   weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::LayerNorm>(from, extent(width, "width"), eps == 0 ? 1e-5F : eps,
                                           bias);
  });
}

weft_status weft_module_rms_norm(weft_init init, uint64_t width, float eps, weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::RMSNorm>(from, extent(width, "width"), eps == 0 ? 1e-5F : eps);
  });
}

weft_status weft_module_group_norm(weft_init init, uint64_t groups, uint64_t channels, float eps,
                                   weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::GroupNorm>(from, extent(groups, "groups"),
                                           extent(channels, "channels"), eps == 0 ? 1e-5F : eps);
  });
}

weft_status weft_module_dropout(float rate, weft_module* module) {
  return call(__func__, [&] {
    weft_module& out = result(module, "module");
    if (!(rate >= 0 && rate < 1)) {
      raise(ErrorCode::invalid_argument, "`rate` is {}; it must be at least 0 and below 1.", rate);
    }
    out = put(ModuleObject{std::make_shared<nn::Dropout>(rate)});
  });
}

weft_status weft_module_flatten(weft_module* module) {
  return call(__func__, [&] {
    result(module, "module") = put(ModuleObject{std::make_shared<nn::Flatten>()});
  });
}

weft_status weft_module_activation(const char* function, weft_module* module) {
  return call(__func__, [&] {
    weft_module& out = result(module, "module");
    out = put(ModuleObject{std::make_shared<nn::Lambda>(activation_of(function, "function"))});
  });
}

weft_status weft_module_mlp(weft_init init, const uint64_t* widths, uint32_t count,
                            const char* activation, weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    constexpr std::uint32_t most = 4096;
    if (count < 2 || count > most) {
      raise(ErrorCode::invalid_argument, "`count` is {}; an MLP has 2 to {} widths.", count, most);
    }
    std::vector<std::uint64_t> all;
    for (std::uint32_t i = 0; i < count; ++i) {
      all.push_back(extent(required(widths, "widths")[i], formatted("widths[{}]", i)));
    }
    return std::make_shared<nn::MLP>(from, all, activation_of(activation, "activation"));
  });
}

weft_status weft_module_multihead_attention(weft_init init, uint64_t width, uint64_t heads,
                                            const weft_module_attention_options* options,
                                            weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::MultiheadAttention>(
        from, extent(width, "width"), extent(heads, "heads"),
        options == nullptr ? nn::AttentionChoices{} : choices_of(*options));
  });
}

weft_status weft_module_transformer_block(weft_init init, uint64_t width, uint64_t heads,
                                          const weft_module_block_options* options,
                                          weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    nn::BlockChoices choices;
    if (options != nullptr) {
      choices = {.attention = choices_of(options->attention),
                 .hidden = extent_or(options->hidden, 0, "options.hidden"),
                 .gated = options->gated,
                 .rms = options->rms,
                 .dropout = options->dropout};
      if (options->eps != 0) choices.eps = options->eps;
    }
    return std::make_shared<nn::TransformerBlock>(from, extent(width, "width"),
                                                  extent(heads, "heads"), choices);
  });
}

weft_status weft_module_lstm(weft_init init, uint64_t in, uint64_t hidden,
                             const weft_module_recurrent_options* options, weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::LSTM>(from, extent(in, "in"), extent(hidden, "hidden"),
                                      choices_of(options));
  });
}

weft_status weft_module_gru(weft_init init, uint64_t in, uint64_t hidden,
                            const weft_module_recurrent_options* options, weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::GRU>(from, extent(in, "in"), extent(hidden, "hidden"),
                                     choices_of(options));
  });
}

weft_status weft_module_rnn(weft_init init, uint64_t in, uint64_t hidden,
                            const weft_module_recurrent_options* options, weft_module* module) {
  return make_layer(__func__, init, module, [&](nn::Init& from) {
    return std::make_shared<nn::RNN>(from, extent(in, "in"), extent(hidden, "hidden"),
                                     choices_of(options));
  });
}

weft_status weft_module_sequential(const weft_module* modules, uint32_t count,
                                   weft_module* module) {
  return call(__func__, [&] {
    weft_module& out = result(module, "module");
    auto made = std::make_shared<nn::Sequential>();
    for (auto& layer : layers_of(modules, count)) made->append(std::move(layer));
    out = put(ModuleObject{std::move(made)});
  });
}

weft_status weft_module_custom(const char* const* names, const weft_module* modules, uint32_t count,
                               weft_part forward, void* context, weft_module* module) {
  return call(__func__, [&] {
    weft_module& out = result(module, "module");
    if (forward == nullptr) raise(ErrorCode::invalid_argument, "`forward` is NULL.");
    auto layers = layers_of(modules, count);
    std::vector<std::string> given;
    for (std::uint32_t i = 0; i < count; ++i) {
      given.emplace_back(required(required(names, "names")[i], formatted("names[{}]", i)));
    }
    out = put(ModuleObject{
        std::make_shared<Custom>(given, std::move(layers), [forward, context](const Tensor& x) {
          return run_part(forward, context, {x}, "The function of a module");
        })});
  });
}

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/compile.hpp"
#include "weft/device.hpp"
#include "weft/random.hpp"
#include "weft/tensor.hpp"

/// Layers with parameters, and models made of them.
namespace weft::nn {

/// A tensor of a module by its full name, such as "layers.0.weight".
struct Named {
  std::string name;
  Tensor tensor;
};

/// Where the parameters of new modules lie, and what they start with: each takes the next key, so
/// that a model starts the same from the same seed, on every device.
class Init {
 public:
  explicit Init(const Device& device, std::uint64_t seed = 0) : device_(device), key_(seed) {}

  [[nodiscard]] const Device& device() const { return device_; }
  /// A key that no other parameter has.
  [[nodiscard]] random::Key next() { return key_.fold_in(drawn_++); }

  // Initial values of f32. `fan_in` is the number of elements that each result is a sum of.
  [[nodiscard]] Tensor uniform(const Shape& shape, double low, double high);
  [[nodiscard]] Tensor normal(const Shape& shape, double mean, double std);
  [[nodiscard]] Tensor truncated_normal(const Shape& shape, double std);
  /// Uniform within ±1/sqrt(fan_in): what linear layers and convolutions start with.
  [[nodiscard]] Tensor fan_in_uniform(const Shape& shape, std::uint64_t fan_in);
  /// Uniform within ±sqrt(6 / (fan_in + fan_out)) (Glorot), and normal with sqrt(2 / fan_in) (He,
  /// for relu).
  [[nodiscard]] Tensor xavier_uniform(const Shape& shape, std::uint64_t fan_in,
                                      std::uint64_t fan_out);
  [[nodiscard]] Tensor kaiming_normal(const Shape& shape, std::uint64_t fan_in);
  [[nodiscard]] Tensor zeros(const Shape& shape) { return device_.full(shape, 0); }
  [[nodiscard]] Tensor ones(const Shape& shape) { return device_.full(shape, 1); }

 private:
  Device device_;
  random::Key key_;
  std::uint32_t drawn_ = 0;
};

/// A part of a model: named parameters, named buffers (tensors that are no parameters, such as
/// running means), and other modules. A class of one's own registers its members in its
/// constructor; they are known by address, so that modules can be neither copied nor moved.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// What an optimizer changes, in the order in which it was registered.
  [[nodiscard]] std::vector<Named> parameters() const;
  /// Parameters and buffers: what a file of weights holds.
  [[nodiscard]] std::vector<Named> state() const;
  /// Elements of all parameters.
  [[nodiscard]] std::uint64_t parameter_count() const;
  /// Gives state() new values. Every name must be there and nothing else, and shapes must be the
  /// same; throws weft::Error with the names otherwise, and changes nothing.
  void load_state(const std::map<std::string, Tensor>& values);
  /// state() to and from a file whose name ends with ".safetensors" or ".gguf". What was loaded
  /// comes back from the file after a loss of the device (recover.hpp), until it changes.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);
  /// Keeps a copy of state() as it is now in the host's memory, for recover(); after steps of an
  /// optimizer, keep it again.
  void keep() const;

  /// Whether dropout drops and batch norms measure; a new module does.
  [[nodiscard]] bool training() const { return training_; }
  void train(bool on = true);
  void eval() { train(false); }

  /// What dropout follows from in the next forward pass: u32[2], one for all layers, each of which
  /// draws for itself.
  void set_key(const Tensor& key);
  /// New values that forward() has for buffers, such as the running means of batch norms, since the
  /// last call. A training step makes them part of its updates; apply() does it at once.
  [[nodiscard]] std::vector<Update> take_updates();

 protected:
  /// Registers a part under a name.
  void add(const std::string& name, Module& part);
  /// A new parameter with these values, and a new buffer.
  Tensor parameter(const std::string& name, const Tensor& initial);
  Tensor buffer(const std::string& name, const Tensor& initial);
  /// Notes a new value of a buffer, for take_updates().
  void update(const Tensor& which, const Tensor& value) { updates_.push_back({which, value}); }
  [[nodiscard]] const Tensor& key() const { return key_; }
  /// What a parameter of this module is computed with: itself, or what takes its place for the
  /// moment (a copy of 16 bits, say).
  [[nodiscard]] Tensor now(const Tensor& parameter) const;
  /// Tells layers that draw random numbers apart; set_key() numbers them.
  [[nodiscard]] std::uint32_t stream() const { return stream_; }

 private:
  friend class Substitution;  // internal
  void visit(const std::function<void(const std::string&, const Tensor&, bool)>& see,
             const std::string& prefix) const;
  void set_key(const Tensor& key, std::uint32_t& stream);

  struct Part {
    std::string name;
    Module* module;
  };
  struct Entry {
    std::string name;
    Tensor tensor;
    bool trained;
    Tensor instead{};  ///< See now().
  };
  std::vector<Part> parts_;
  std::vector<Entry> entries_;
  std::vector<Update> updates_;
  Tensor key_;
  std::uint32_t stream_ = 0;
  bool training_ = true;
};

/// A module from one tensor to another.
class Layer : public Module {
 public:
  [[nodiscard]] virtual Tensor forward(const Tensor& x) = 0;
  [[nodiscard]] Tensor operator()(const Tensor& x) { return forward(x); }
};

}  // namespace weft::nn

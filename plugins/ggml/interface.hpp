#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>

// What ggml and a backend know of each other, for the API numbers 2 and 3. ggml's public headers
// only name these types; their members are described here, because distributions leave the header
// that has them out of their packages. Where the two numbers differ, there is a type for each. All
// members of function tables that are marked optional may be null.

// NOLINTBEGIN(readability-identifier-naming): the names are those of ggml.

/// The functions of the memory of a device.
struct ggml_backend_buffer_i {
  void (*free_buffer)(ggml_backend_buffer_t) = nullptr;
  void* (*get_base)(ggml_backend_buffer_t) = nullptr;
  ggml_status (*init_tensor)(ggml_backend_buffer_t, ggml_tensor*) = nullptr;  // optional
  void (*memset_tensor)(ggml_backend_buffer_t, ggml_tensor*, std::uint8_t value, std::size_t offset,
                        std::size_t size) = nullptr;
  void (*set_tensor)(ggml_backend_buffer_t, ggml_tensor*, const void* from, std::size_t offset,
                     std::size_t size) = nullptr;
  void (*get_tensor)(ggml_backend_buffer_t, const ggml_tensor*, void* to, std::size_t offset,
                     std::size_t size) = nullptr;
  // Several pieces, each with a distance to the next; optional.
  void (*set_tensor_2d)(ggml_backend_buffer_t, ggml_tensor*, const void* from, std::size_t offset,
                        std::size_t size, std::size_t pieces, std::size_t step_tensor,
                        std::size_t step_from) = nullptr;
  void (*get_tensor_2d)(ggml_backend_buffer_t, const ggml_tensor*, void* to, std::size_t offset,
                        std::size_t size, std::size_t pieces, std::size_t step_tensor,
                        std::size_t step_to) = nullptr;
  bool (*cpy_tensor)(ggml_backend_buffer_t, const ggml_tensor* from, ggml_tensor* to) = nullptr;
  void (*clear)(ggml_backend_buffer_t, std::uint8_t value) = nullptr;
  void (*reset)(ggml_backend_buffer_t) = nullptr;  // optional
};

struct ggml_backend_buffer {
  ggml_backend_buffer_i iface;
  ggml_backend_buffer_type_t buft;
  void* context;
  std::size_t size;
  ggml_backend_buffer_usage usage;
};

/// What graph_optimize() is given: tensors can be kept in their memory until a later node is
/// computed.
struct ggml_backend_graph_optimize_params {
  void (*add_alloc_dep)(void* user_data, ggml_tensor* tensor, ggml_tensor* until);
  void* user_data;
};

/// The functions of a stream of work.
struct ggml_backend_i {
  const char* (*get_name)(ggml_backend_t) = nullptr;
  void (*free)(ggml_backend_t) = nullptr;
  // All about tensors is optional.
  void (*set_tensor_async)(ggml_backend_t, ggml_tensor*, const void* from, std::size_t offset,
                           std::size_t size) = nullptr;
  void (*get_tensor_async)(ggml_backend_t, const ggml_tensor*, void* to, std::size_t offset,
                           std::size_t size) = nullptr;
  void (*set_tensor_2d_async)(ggml_backend_t, ggml_tensor*, const void* from, std::size_t offset,
                              std::size_t size, std::size_t pieces, std::size_t step_tensor,
                              std::size_t step_from) = nullptr;
  void (*get_tensor_2d_async)(ggml_backend_t, const ggml_tensor*, void* to, std::size_t offset,
                              std::size_t size, std::size_t pieces, std::size_t step_tensor,
                              std::size_t step_to) = nullptr;
  bool (*cpy_tensor_async)(ggml_backend_t from_backend, ggml_backend_t to_backend,
                           const ggml_tensor* from, ggml_tensor* to) = nullptr;
  void (*synchronize)(ggml_backend_t) = nullptr;
  // Plans of graphs are optional, and nobody asks for them.
  ggml_backend_graph_plan_t (*graph_plan_create)(ggml_backend_t, const ggml_cgraph*) = nullptr;
  void (*graph_plan_free)(ggml_backend_t, ggml_backend_graph_plan_t) = nullptr;
  void (*graph_plan_update)(ggml_backend_t, ggml_backend_graph_plan_t,
                            const ggml_cgraph*) = nullptr;
  ggml_status (*graph_plan_compute)(ggml_backend_t, ggml_backend_graph_plan_t) = nullptr;
  ggml_status (*graph_compute)(ggml_backend_t, ggml_cgraph*) = nullptr;
  void (*event_record)(ggml_backend_t, ggml_backend_event_t) = nullptr;  // optional
  void (*event_wait)(ggml_backend_t, ggml_backend_event_t) = nullptr;    // optional
  void (*graph_optimize)(ggml_backend_t, ggml_cgraph*,
                         ggml_backend_graph_optimize_params*) = nullptr;  // optional
};

struct ggml_backend {
  ggml_guid_t guid;
  ggml_backend_i iface;
  ggml_backend_dev_t device;
  void* context;
};

struct ggml_backend_event {
  ggml_backend_device* device;
  void* context;
};

/// The functions of a device.
struct ggml_backend_device_i {
  const char* (*get_name)(ggml_backend_dev_t) = nullptr;
  const char* (*get_description)(ggml_backend_dev_t) = nullptr;
  void (*get_memory)(ggml_backend_dev_t, std::size_t* free, std::size_t* total) = nullptr;
  enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t) = nullptr;
  void (*get_props)(ggml_backend_dev_t, ggml_backend_dev_props*) = nullptr;
  ggml_backend_t (*init_backend)(ggml_backend_dev_t, const char* params) = nullptr;
  ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t) = nullptr;
  ggml_backend_buffer_type_t (*get_host_buffer_type)(ggml_backend_dev_t) = nullptr;  // optional
  ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t, void* from, std::size_t size,
                                                std::size_t most_of_a_tensor) =
      nullptr;  // optional
  bool (*supports_op)(ggml_backend_dev_t, const ggml_tensor*) = nullptr;
  bool (*supports_buft)(ggml_backend_dev_t, ggml_backend_buffer_type_t) = nullptr;
  bool (*offload_op)(ggml_backend_dev_t, const ggml_tensor*) = nullptr;  // optional
  // Events are optional.
  ggml_backend_event_t (*event_new)(ggml_backend_dev_t) = nullptr;
  void (*event_free)(ggml_backend_dev_t, ggml_backend_event_t) = nullptr;
  void (*event_synchronize)(ggml_backend_dev_t, ggml_backend_event_t) = nullptr;
};

struct ggml_backend_device {
  ggml_backend_device_i iface;
  ggml_backend_reg_t reg;
  void* context;
};

/// The functions of a plug-in.
struct ggml_backend_reg_i {
  const char* (*get_name)(ggml_backend_reg_t) = nullptr;
  std::size_t (*get_device_count)(ggml_backend_reg_t) = nullptr;
  ggml_backend_dev_t (*get_device)(ggml_backend_reg_t, std::size_t index) = nullptr;
  void* (*get_proc_address)(ggml_backend_reg_t, const char* name) = nullptr;
};

struct ggml_backend_reg {
  int api_version;
  ggml_backend_reg_i iface;
  void* context;
};

// NOLINTEND(readability-identifier-naming)

namespace weft::plugin {

/// The functions of a kind of memory, with API 2.
struct BufferTypeFunctions2 {
  const char* (*get_name)(ggml_backend_buffer_type_t) = nullptr;
  ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t, std::size_t size) = nullptr;
  std::size_t (*get_alignment)(ggml_backend_buffer_type_t) = nullptr;
  std::size_t (*get_max_size)(ggml_backend_buffer_type_t) = nullptr;  // optional
  std::size_t (*get_alloc_size)(ggml_backend_buffer_type_t,
                                const ggml_tensor*) = nullptr;  // optional
  bool (*is_host)(ggml_backend_buffer_type_t) = nullptr;        // optional
};

/// The same with API 3, which can ask for several tensors at once.
struct BufferTypeFunctions3 {
  const char* (*get_name)(ggml_backend_buffer_type_t) = nullptr;
  ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t, std::size_t size) = nullptr;
  ggml_backend_buffer_t (*alloc_buffer_n)(ggml_backend_buffer_type_t, ggml_tensor** tensors,
                                          int count) = nullptr;  // optional
  std::size_t (*get_alignment)(ggml_backend_buffer_type_t) = nullptr;
  std::size_t (*get_max_size)(ggml_backend_buffer_type_t) = nullptr;  // optional
  std::size_t (*get_alloc_size)(ggml_backend_buffer_type_t,
                                const ggml_tensor*) = nullptr;  // optional
  std::size_t (*get_alloc_size_n)(ggml_backend_buffer_type_t, ggml_tensor** tensors,
                                  int count) = nullptr;   // optional
  bool (*is_host)(ggml_backend_buffer_type_t) = nullptr;  // optional
};

/// A kind of memory as ggml sees it.
template <class Functions>
struct BufferTypeLayout {
  Functions functions;
  ggml_backend_dev_t device = nullptr;
  void* context = nullptr;
};

/// The tensors that a graph has met, found by their addresses.
struct TensorSet {
  std::size_t size;
  const std::uint32_t* used;  ///< A bit for every place.
  ggml_tensor* const* tensors;
};

/// A graph as both numbers have it. The count of nodes tells whether a ggml lays its graphs out
/// like this.
struct GraphLayout {
  int size;
  int nodes_count;
  int leafs_count;
  ggml_tensor** nodes;
  ggml_tensor** gradients;
  ggml_tensor** accumulators;
  ggml_tensor** leafs;
  const std::int32_t* uses;  ///< How often each tensor of `met` is a source.
  TensorSet met;
  int order;
  std::uint64_t uid;  ///< The same for a graph that is handed over unchanged again; 0 where that is
                      ///< not known.
};

}  // namespace weft::plugin

#include "node.hpp"

#include <algorithm>
#include <array>

#include "api.hpp"
#include "formats/ggml_type.hpp"

namespace weft::plugin {
namespace {

constexpr std::uint32_t ggml_dims = GGML_MAX_DIMS;
static_assert(ggml_dims <= ops::max_rank);

using RowTable = std::array<Row, GGML_OP_COUNT>;

RowTable join_rows() {
  RowTable table{};
  for (const auto& family : {elementwise_rows(), copy_rows(), reduce_rows(), norm_rows(),
                             matmul_rows(), attention_rows(), conv_rows(), recurrent_rows(),
                             training_rows(), index_rows(), spatial_rows()}) {
    for (const Row& row : family) table.at(static_cast<std::size_t>(row.op)) = row;
  }
  return table;
}

}  // namespace

const Row* find_row(ggml_op op) {
  static const RowTable table = join_rows();
  const auto index = static_cast<std::size_t>(op);
  return index < table.size() && table[index].plan != nullptr ? &table[index] : nullptr;
}

bool is_view_op(ggml_op op) {
  return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW ||
         op == GGML_OP_PERMUTE || op == GGML_OP_TRANSPOSE;
}

std::optional<DType> to_dtype(ggml_type type) {
  // GGUF files have the numbers of ggml.
  static const auto known = [] {
    std::array<std::optional<DType>, GGML_TYPE_COUNT> table{};
    for (std::uint32_t i = 0; i < GGML_TYPE_COUNT; ++i) {
      if (const gguf::TypeInfo* info = gguf::find_type(i)) {
        table.at(i) = dtype_from_name(info->name);
      }
    }
    return table;
  }();
  const auto number = static_cast<std::size_t>(type);
  return number < known.size() ? known.at(number) : std::nullopt;
}

Result<ops::View> to_view(const ggml_tensor& tensor, Place place) {
  const std::optional<DType> dtype = to_dtype(tensor.type);
  if (!dtype) {
    return fail(ErrorCode::unsupported, "Tensor \"{}\" has the type {}, which is not known here.",
                tensor.name, api().type_name(tensor.type));
  }
  const std::uint64_t bytes = block_bytes(*dtype);
  ops::View view;
  view.dtype = *dtype;
  view.slot = place.slot;
  view.offset = place.offset;
  view.rank = ggml_dims;
  for (std::uint32_t i = 0; i < ggml_dims; ++i) {
    // A stride along a row of blocks is one block in ggml and one element here.
    const bool along_blocks = i == 0 && is_quantized(*dtype);
    if (tensor.nb[i] % bytes != 0 || (along_blocks && tensor.nb[i] != bytes)) {
      return fail(ErrorCode::unsupported,
                  "Tensor \"{}\" of type {} has a stride of {} bytes along dimension {}, which is "
                  "not a number of whole elements or blocks ({} bytes).",
                  tensor.name, name(*dtype), tensor.nb[i], i, bytes);
    }
    view.shape[ggml_dims - 1 - i] = static_cast<std::uint64_t>(tensor.ne[i]);
    view.stride[ggml_dims - 1 - i] =
        along_blocks ? 1 : tensor.nb[i] / bytes * block_elements(*dtype);
  }
  return view;
}

Result<Node> make_node(const ggml_tensor& tensor,
                       const std::function<Result<Place>(const ggml_tensor&)>& place) {
  const auto view_of = [&place](const ggml_tensor& t) -> Result<ops::View> {
    const Result<Place> at = place(t);
    if (!at) return std::unexpected(at.error());
    return to_view(t, *at);
  };
  Node node;
  node.tensor = &tensor;
  auto dst = view_of(tensor);
  if (!dst) return std::unexpected(dst.error());
  node.dst = *dst;
  std::size_t count = GGML_MAX_SRC;
  while (count > 0 && tensor.src[count - 1] == nullptr) --count;
  for (std::size_t i = 0; i < count; ++i) {
    if (tensor.src[i] == nullptr) {
      node.src.emplace_back();
      continue;
    }
    auto src = view_of(*tensor.src[i]);
    if (!src) return std::unexpected(src.error());
    node.src.push_back(*src);
  }
  return node;
}

namespace {

/// Programs ask whether an op can read a weight before they know the op's parameters. Rotations
/// then turn no dimension, with a base and a scale of 0, and have factors for more of them. There
/// is a kernel if there is one for what is meant.
ggml_tensor with_parameters(ggml_tensor tensor) {
  enum Word : std::uint8_t { dims = 1, base = 5, scale = 6 };
  const bool rotates = tensor.op == GGML_OP_ROPE || tensor.op == GGML_OP_ROPE_BACK;
  if (rotates && tensor.op_params[dims] == 0 && tensor.op_params[base] == 0 &&
      tensor.op_params[scale] == 0 && tensor.src[2] != nullptr) {
    tensor.op_params[dims] =
        static_cast<std::int32_t>(std::min(2 * tensor.src[2]->ne[0], tensor.src[0]->ne[0] / 2 * 2));
    tensor.op_params[base] = tensor.op_params[scale] = std::bit_cast<std::int32_t>(1.0F);
  }
  return tensor;
}

}  // namespace

Result<ops::Plan> plan_unplaced(const ggml_tensor& asked, const Caps& caps) {
  const ggml_tensor tensor = with_parameters(asked);
  std::vector<const ggml_tensor*> roots;
  const auto place = [&roots](const ggml_tensor& t) -> Result<Place> {
    const ggml_tensor* root = t.view_src != nullptr ? t.view_src : &t;
    auto found = std::ranges::find(roots, root);
    if (found == roots.end()) found = roots.insert(roots.end(), root);
    const auto number = static_cast<std::size_t>(found - roots.begin());
    return Place{ops::Slot(number), t.view_src != nullptr ? t.view_offs : 0};
  };
  const auto node = make_node(tensor, place);
  if (!node) return std::unexpected(node.error());
  return plan_node(*node, caps);
}

Result<ops::Plan> plan_node(const Node& node, const Caps& caps) {
  const Row* row = find_row(node.tensor->op);
  if (row == nullptr) {
    return fail(ErrorCode::unsupported, "There is no kernel for {}.",
                api().op_name(node.tensor->op));
  }
  return row->plan(node, caps);
}

}  // namespace weft::plugin

#include "graph_cache.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "api.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "device.hpp"
#include "fuse/fuse.hpp"
#include "node.hpp"

namespace weft::plugin {
namespace {

/// Recordings kept. A language model alternates between a few graphs: prompt batches, single
/// tokens, growing caches.
constexpr std::size_t capacity = 32;

void add_tensor(std::vector<std::uint64_t>& key, const ggml_tensor& tensor) {
  const BufferContext* context = BufferContext::of(tensor);
  key.push_back(context != nullptr ? context->buffer.id() : 0);
  key.push_back(std::bit_cast<std::uintptr_t>(tensor.data));
  key.push_back(static_cast<std::uint64_t>(tensor.type));
  for (const std::int64_t extent : tensor.ne) key.push_back(static_cast<std::uint64_t>(extent));
  for (const std::size_t stride : tensor.nb) key.push_back(stride);
}

/// The members of a graph; null where ggml lays its graphs out otherwise than described, which the
/// number of nodes tells.
const GraphLayout* layout_of(const ggml_cgraph& graph, std::size_t nodes) {
  const auto* layout = reinterpret_cast<const GraphLayout*>(&graph);
  return static_cast<std::size_t>(layout->nodes_count) == nodes ? layout : nullptr;
}

/// How often a tensor is a source in the whole graph that this one may be a part of; -1 where that
/// is not known.
int uses_of(const GraphLayout* graph, const ggml_tensor& tensor) {
  if (graph == nullptr || graph->met.size == 0) return -1;
  const TensorSet& met = graph->met;
  // A tensor lies at the place that its address gives, or at the next ones that others have not
  // taken.
  std::size_t at = (std::bit_cast<std::uintptr_t>(&tensor) >> 4U) % met.size;
  for (std::size_t i = 0; i < met.size && (met.used[at / 32] >> (at % 32) & 1U) != 0; ++i) {
    if (met.tensors[at] == &tensor) return graph->uses[at];
    at = (at + 1) % met.size;
  }
  return -1;
}

std::vector<std::uint64_t> key_of(const ggml_cgraph& graph, std::span<ggml_tensor* const> nodes) {
  const GraphLayout* layout = layout_of(graph, nodes.size());
  std::vector<std::uint64_t> key;
  key.reserve(nodes.size() * 48);
  for (const ggml_tensor* node : nodes) {
    key.push_back(static_cast<std::uint64_t>(node->op));
    key.push_back(static_cast<std::uint64_t>(node->flags));
    key.push_back(static_cast<std::uint64_t>(uses_of(layout, *node)));
    if (!is_computed(*node)) {  // A view keeps what it shows from being fused away.
      add_tensor(key, *node);
      continue;
    }
    for (const std::int32_t word : node->op_params) {
      key.push_back(static_cast<std::uint64_t>(static_cast<std::uint32_t>(word)));
    }
    add_tensor(key, *node);
    for (std::uint64_t i = 0; i < GGML_MAX_SRC; ++i) {
      if (node->src[i] == nullptr) continue;
      key.push_back(i);
      add_tensor(key, *node->src[i]);
    }
  }
  return key;
}

/// The number that ggml gives to a graph which it will hand over unchanged again and again; 0 where
/// it gives none.
std::uint64_t uid_of(const ggml_cgraph& graph, std::size_t nodes) {
  const GraphLayout* layout = layout_of(graph, nodes);
  return layout != nullptr ? layout->uid : 0;
}

/// The buffers of a graph's tensors, numbered.
struct Slots {
  std::vector<gpu::Buffer> buffers;

  Result<Place> place(const ggml_tensor& tensor) {
    const BufferContext* context = BufferContext::of(tensor);
    if (context == nullptr) {
      return fail(ErrorCode::invalid_argument, "Tensor \"{}\" does not lie in a buffer of Weft.",
                  tensor.name);
    }
    auto found = std::ranges::find(buffers, context->buffer);
    if (found == buffers.end()) found = buffers.insert(buffers.end(), context->buffer);
    return Place{ops::Slot(static_cast<std::size_t>(found - buffers.begin())), offset_of(tensor)};
  }
};

/// The nodes of a graph that compute something.
std::vector<const ggml_tensor*> computed_of(std::span<ggml_tensor* const> nodes) {
  std::vector<const ggml_tensor*> out;
  std::ranges::copy_if(nodes, std::back_inserter(out),
                       [](const ggml_tensor* tensor) { return is_computed(*tensor); });
  return out;
}

Touch touch_of(const ggml_tensor& tensor, BufferContext& buffer) {
  const Range range = range_of(tensor);
  Touch touch{.buffer = &buffer, .first = range.first, .end = range.end};
  std::ranges::copy(std::string_view(tensor.name).substr(0, touch.name.size() - 1),
                    touch.name.begin());
  return touch;
}

bool is_dense(const ggml_tensor& tensor) {
  const auto view = to_view(tensor, {ops::Slot(0), 0});
  return view && view->is_dense();
}

/// What a graph reads of buffers that outlive it, and of inputs that the host wrote; and what it
/// writes there.
std::vector<Touch> touches_of(std::span<ggml_tensor* const> nodes) {
  std::vector<Touch> out;
  for (const ggml_tensor* node : nodes) {
    if (!is_computed(*node)) continue;
    const bool steps = node->op == GGML_OP_OPT_STEP_ADAMW || node->op == GGML_OP_OPT_STEP_SGD;
    for (const ggml_tensor* source : node->src) {
      BufferContext* buffer = source != nullptr ? BufferContext::of(*source) : nullptr;
      if (buffer == nullptr) continue;
      const ggml_tensor& root = source->view_src != nullptr ? *source->view_src : *source;
      if (buffer->is_transient() && root.op != GGML_OP_NONE) continue;
      out.push_back(touch_of(*source, *buffer));
      out.back().reads = true;
      out.back().writes = steps;
    }
    BufferContext* buffer = BufferContext::of(*node);
    if (buffer == nullptr || buffer->is_transient()) continue;
    out.push_back(touch_of(*node, *buffer));
    out.back().writes = true;
    // What is put into a tensor leaves the rest of it as it is.
    const bool in_place = node->view_src != nullptr && node->op != GGML_OP_CPY;
    out.back().reads = in_place || !is_dense(*node);
  }
  return out;
}

/// Looks whether what a graph reads is there, and notes what it writes.
Status go_through(std::span<const Touch> touches, bool gaps) {
  for (const Touch& touch : touches) {
    if (touch.buffer->content.is_plain()) continue;
    const Range range{touch.first, touch.end};
    if (gaps && touch.reads && touch.buffer->content.lacks(range)) {
      return fail(
          ErrorCode::device_lost,
          "The bytes of tensor \"{}\" are gone: they were on a device that was lost, or could not "
          "be written. Write them again; of a context's memory, clear its data and compute the "
          "prompt again. Weights come back if they were mapped when they were loaded, or with "
          "WEFT_KEEP_WEIGHTS=1.",
          touch.name.data());
    }
    if (touch.writes) touch.buffer->content.written(range);
  }
  return {};
}

}  // namespace

Status GraphCache::compute(graph::Executor& executor, gpu::Stream& stream, ggml_cgraph& graph) {
  const std::span<ggml_tensor* const> nodes(api().graph_nodes(&graph),
                                            static_cast<std::size_t>(api().graph_n_nodes(&graph)));
  const std::uint64_t uid = uid_of(graph, nodes.size());
  const std::lock_guard lock(mutex_);
  const gpu::HostTime time(executor.device(), "graph");
  const auto replay = [&](std::list<Entry>::iterator known) {
    repeats_ = known == entries_.begin() ? repeats_ + 1 : 0;
    entries_.splice(entries_.begin(), entries_, known);
    known->uid = uid;
    ++stats_.replayed;
    return run(*known, stream);
  };
  const auto numbered = std::ranges::find_if(
      entries_, [uid](const Entry& entry) { return uid != 0 && entry.uid == uid; });
  if (numbered != entries_.end()) return replay(numbered);
  Key key = key_of(graph, nodes);
  const std::uint64_t hash = hash_bytes(std::as_bytes(std::span(key)));
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.hash == hash && entry.key == key; });
  if (known != entries_.end()) return replay(known);

  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const std::vector<const ggml_tensor*> computed = computed_of(nodes);
  const GraphLayout* layout = layout_of(graph, nodes.size());
  const Uses uses(nodes, [&](const ggml_tensor& tensor) { return uses_of(layout, tensor); });
  Slots slots;
  const PlaceFn place = [&slots](const ggml_tensor& tensor) { return slots.place(tensor); };
  const auto planned = steps_.plan(computed, uses, place, executor.device().caps());
  if (!planned) return std::unexpected(planned.error());
  const auto was_planned = Clock::now();
  auto recording = steps_.record(executor, stream, *planned, slots.buffers);
  if (!recording) return std::unexpected(recording.error());
  stats_.plan_seconds += std::chrono::duration<double>(was_planned - started).count();
  stats_.record_seconds += std::chrono::duration<double>(Clock::now() - was_planned).count();
  Entry entry{.uid = uid,
              .hash = hash,
              .key = std::move(key),
              .buffers = {},
              .recording = std::move(*recording),
              .nodes = {},
              .touches = touches_of(nodes)};
  for (const ggml_tensor* tensor : computed) entry.nodes.push_back(tensor->op);
  for (const gpu::Buffer& buffer : slots.buffers) entry.buffers.push_back(buffer.id());
  for (const Touch& touch : entry.touches) entry.buffers.push_back(touch.buffer->buffer.id());
  stats_.fused += planned->fused;
  ++stats_.recorded;
  repeats_ = 0;
  entries_.push_front(std::move(entry));
  if (entries_.size() > capacity) entries_.pop_back();
  return run(entries_.front(), stream);
}

Status GraphCache::run(const Entry& entry, gpu::Stream& stream) {
  for (const ggml_op op : entry.nodes) ++stats_.nodes.at(static_cast<std::size_t>(op));
  const bool gaps = !entry.touches.empty() && entry.touches.front().buffer->device.has_gaps();
  if (Status ok = go_through(entry.touches, gaps); !ok) return ok;
  if (!entry.recording) return {};
  stats_.launches += entry.recording.size();
  if (!timing_) return stream.replay(entry.recording);
  const auto seconds = stream.time_replay(entry.recording);
  if (!seconds) return std::unexpected(seconds.error());
  Times& times = times_[entry.recording.size()];
  ++times.count;
  times.seconds += *seconds;
  return {};
}

Status GraphCache::encode_ahead(gpu::Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (repeats_ == 0 || timing_ || entries_.empty() || !entries_.front().recording) return {};
  return stream.encode_ahead(entries_.front().recording);
}

std::map<std::size_t, GraphCache::Times> GraphCache::take_times() {
  const std::lock_guard lock(mutex_);
  return std::exchange(times_, {});
}

void GraphCache::forget(std::uint64_t buffer_id) {
  const std::lock_guard lock(mutex_);
  repeats_ = 0;
  entries_.remove_if(
      [buffer_id](const Entry& entry) { return std::ranges::contains(entry.buffers, buffer_id); });
}

void GraphCache::forget_all() {
  const std::lock_guard lock(mutex_);
  repeats_ = 0;
  entries_.clear();
  steps_.forget_all();
}

GraphCache::Stats GraphCache::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.planned = steps_.stats().planned;
  stats.reused = steps_.stats().reused;
  return stats;
}

}  // namespace weft::plugin

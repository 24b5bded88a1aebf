#include "weft/c/data.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "capi/tensors.hpp"
#include "weft/data.hpp"

namespace weft::capi {
namespace {

struct LoaderObject {
  using Handle = weft_loader;
  static constexpr Kind kind = Kind::loader;
  std::shared_ptr<data::Loader> loader;
  std::size_t columns = 0;
  std::shared_ptr<std::mutex> mutex;  ///< One call at a time.
  std::unique_ptr<data::Loader::Epoch> epoch;
};

data::Column column_of(const weft_column& given, std::uint32_t number) {
  const auto part = [&](std::string_view name) {
    return formatted("columns[{}].{}", number, name);
  };
  data::Column out{
      dtype_of(given.dtype, part("dtype")), shape_of(given.rank, given.shape, part("shape")), {}};
  if (given.size > 0) {
    const auto* bytes = static_cast<const std::byte*>(required(given.bytes, part("bytes")));
    out.bytes.assign(bytes, bytes + given.size);
  }
  return out;
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_loader_create(weft_device device, const weft_column* columns, uint32_t count,
                               const weft_loader_options* options, weft_loader* loader) {
  return call(__func__, [&] {
    weft_loader& out = result(loader, "loader");
    const auto object = get<DeviceObject>(device, "device");
    if (count > 0) required(columns, "columns");
    std::vector<data::Column> all;
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(column_of(columns[i], i));
    data::LoaderOptions choices;
    if (options != nullptr) {
      if (options->batch > 0) choices.batch = options->batch;
      choices.shuffle = !options->in_order;
      choices.seed = options->seed;
      choices.drop_last = !options->keep_last;
      if (options->prefetch > 0) choices.prefetch = std::min(options->prefetch, 64U);
    }
    out = put(LoaderObject{std::make_shared<data::Loader>(object->device, std::move(all), choices),
                           count, std::make_shared<std::mutex>(), nullptr});
  });
}

weft_status weft_loader_get_size(weft_loader loader, uint64_t* examples, uint64_t* batches) {
  return call(__func__, [&] {
    const auto object = get<LoaderObject>(loader, "loader");
    if (examples != nullptr) *examples = object->loader->examples();
    if (batches != nullptr) *batches = object->loader->batches();
  });
}

weft_status weft_loader_start(weft_loader loader, uint64_t epoch) {
  return call(__func__, [&] {
    const auto object = get<LoaderObject>(loader, "loader");
    const std::lock_guard turn(*object->mutex);
    object->epoch = std::make_unique<data::Loader::Epoch>(object->loader->epoch(epoch));
  });
}

weft_status weft_loader_next(weft_loader loader, weft_tensor* tensors, bool* more) {
  return call(__func__, [&] {
    const auto object = get<LoaderObject>(loader, "loader");
    *required(more, "more") = false;
    std::fill_n(required(tensors, "tensors"), object->columns, nullptr);
    const std::lock_guard turn(*object->mutex);
    if (!object->epoch) {
      raise(ErrorCode::invalid_argument, "No epoch was started: call weft_loader_start() first.");
    }
    const std::vector<Tensor> batch = object->epoch->next();
    if (batch.empty()) return;
    put_all(batch, tensors);
    *more = true;
  });
}

weft_status weft_loader_free(weft_loader loader) {
  return call(__func__, [&] { drop<LoaderObject>(loader, "loader"); });
}

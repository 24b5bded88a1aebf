#include <emscripten/emscripten.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "door.hpp"
#include "nn/data.hpp"
#include "nn/import.hpp"
#include "nn/snapshot.hpp"
#include "nn/trainer.hpp"
#include "weft/device.hpp"
#include "weft/optim.hpp"
#include "weft/recover.hpp"

// Training a model further on a text, one at a time.

using weft::web::answered;
using weft::web::failed;
using weft::web::guarded;
using weft::web::json;
using weft::web::take;

namespace {

struct Lesson {
  weft::Device device{weft::DeviceChoice{}};
  weft::nn::Imported model;
  weft::nn::TrainerConfig config;
  weft::optim::Schedule schedule;
  std::vector<std::uint32_t> tokens;
  std::optional<weft::nn::Windows> windows;
  std::optional<weft::nn::Trainer> trainer;
  std::uint64_t step = 0;
  std::uint64_t snapshot_steps = 10;
  weft::nn::Snapshot snapshot;      ///< Where it goes on from when the device is lost,
  std::uint64_t snapshot_step = 0;  ///< and after which step that was.
};

std::optional<Lesson>& lesson() {
  static std::optional<Lesson> only;
  return only;
}

Lesson& required() {
  if (!lesson()) throw weft::Error(weft::ErrorCode::invalid_argument, "No training is open.");
  return *lesson();
}

void keep(Lesson& now) {
  now.snapshot = weft::nn::take_snapshot(*now.trainer);
  now.snapshot_step = now.step;
}

}  // namespace

extern "C" {

/// Prepares the training of the model "path" on "text": "steps" of "batch" sequences of "context"
/// tokens.
EMSCRIPTEN_KEEPALIVE const char* weft_teach_open(const char* request) {
  return guarded([request] {
    const json asked = json::parse(request);
    lesson().reset();
    Lesson& now = lesson().emplace(
        Lesson{.model = weft::nn::import_gguf(asked.at("path").get<std::string>())});
    now.schedule.lr = 2e-4;
    now.schedule.steps = 100;
    now.config.batch = 4;
    now.config.model = now.model.config;
    now.config.optimizer.weight_decay = 0.01;
    std::uint64_t context = std::min<std::uint64_t>(128, now.model.config.context);
    take(asked, "steps", now.schedule.steps);
    take(asked, "rate", now.schedule.lr);
    take(asked, "batch", now.config.batch);
    take(asked, "context", context);
    take(asked, "snapshot", now.snapshot_steps);
    if (now.snapshot_steps == 0 || now.config.batch == 0 || context == 0) {
      return failed(
          {weft::ErrorCode::invalid_argument,
           weft::formatted("snapshot ({}), batch ({}) and context ({}) must be 1 or more.",
                           now.snapshot_steps, now.config.batch, context)});
    }
    now.config.model.context =
        context;  // Of the training alone: positions turn the same at any length.
    now.schedule.warmup = std::min<std::uint64_t>(10, now.schedule.steps / 10);
    now.tokens = now.model.tokenizer.encode(asked.at("text").get<std::string>(), true);
    now.windows.emplace(now.tokens, context, 1);
    now.trainer.emplace(now.device, now.config);
    now.trainer->set_values(now.model.values);
    keep(now);
    return answered({{"parameters", now.trainer->model().parameter_count()},
                     {"tokens", now.tokens.size()},
                     {"windows", now.windows->per_epoch()},
                     {"steps", now.schedule.steps},
                     {"device", now.device.name()}});
  });
}

/// One step. After a lost device it goes back to the last snapshot, and the answer says after which
/// step that was.
EMSCRIPTEN_KEEPALIVE const char* weft_teach_step() {
  return guarded([] {
    Lesson& now = required();
    try {
      const weft::nn::Batch batch =
          now.windows->batch(now.step * now.config.batch, now.config.batch);
      const float loss =
          now.trainer->step(std::span(&batch, 1), now.schedule(now.step), now.step).item();
      ++now.step;
      if (now.step % now.snapshot_steps == 0) keep(now);
      return answered({{"step", now.step}, {"loss", loss}});
    } catch (const weft::Error& error) {
      if (error.code() != weft::ErrorCode::device_lost) throw;
    }
    now.trainer.reset();
    weft::recover(now.device);
    now.trainer.emplace(weft::nn::trainer_from(now.snapshot, now.device, now.config));
    now.step = now.snapshot_step;
    return answered({{"step", now.step}, {"recovered", true}});
  });
}

/// Writes the model as it is now to the file "path".
EMSCRIPTEN_KEEPALIVE const char* weft_teach_save(const char* request) {
  return guarded([request] {
    Lesson& now = required();
    const json asked = json::parse(request);
    std::string type = "q8_0";
    std::string name = now.model.name + ", taught";
    take(asked, "type", type);
    take(asked, "name", name);
    weft::nn::export_gguf(asked.at("path").get<std::string>(), now.model.config,
                          now.trainer->values(), now.model.tokenizer, type, name);
    return answered(json::object());
  });
}

EMSCRIPTEN_KEEPALIVE const char* weft_teach_close() {
  return guarded([] {
    lesson().reset();
    return answered(json::object());
  });
}
}

#include "gpu/profile.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text_file.hpp"

namespace weft::gpu {
namespace {

struct Row {
  std::string label;
  std::size_t count = 0;
  double total = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
};

std::vector<Row> rows_of(const std::vector<ProfileEvent>& events) {
  std::map<std::string, Row> by_label;
  for (const ProfileEvent& event : events) {
    Row& row = by_label[event.label];
    row.label = event.label;
    ++row.count;
    row.total += event.seconds;
    row.least = std::min(row.least, event.seconds);
    row.most = std::max(row.most, event.seconds);
  }
  std::vector<Row> rows;
  for (auto& [label, row] : by_label) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::total);
  return rows;
}

void append_table(std::string& out, std::string_view title,
                  const std::vector<ProfileEvent>& events) {
  if (events.empty()) return;
  const std::vector<Row> rows = rows_of(events);
  double total = 0;
  std::size_t width = title.size();
  for (const Row& row : rows) {
    total += row.total;
    width = std::max(width, row.label.size());
  }
  out += formatted("{:<{}} {:>8} {:>12} {:>11} {:>11} {:>11} {:>6}\n", title, width, "count",
                   "total ms", "mean us", "min us", "max us", "share");
  for (const Row& row : rows) {
    out += formatted("{:<{}} {:>8} {:>12.3f} {:>11.2f} {:>11.2f} {:>11.2f} {:>5.1f}%\n", row.label,
                     width, row.count, row.total * 1e3,
                     row.total / static_cast<double>(row.count) * 1e6, row.least * 1e6,
                     row.most * 1e6, total > 0 ? 100 * row.total / total : 0.0);
  }
}

constexpr int host_process = 1;
constexpr int gpu_process = 2;

std::string name_event(std::string_view what, int process, std::string_view name) {
  return formatted("{{\"ph\":\"M\",\"name\":{},\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}}",
                   json::quoted(what), process, json::quoted(name));
}

std::string span_event(const ProfileEvent& event, int process) {
  std::string out = formatted(
      ",\n{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}",
      json::quoted(event.label), process, event.thread, event.start * 1e6, event.seconds * 1e6);
  if (!event.note.empty()) {
    out += formatted(",\"args\":{{\"shapes\":{}}}", json::quoted(event.note));
  }
  return out + '}';
}

}  // namespace

std::string profile_table(const Profile& profile) {
  std::string out;
  append_table(out, "kernel", profile.gpu);
  if (!out.empty() && !profile.host.empty()) out += '\n';
  append_table(out, "host", profile.host);
  return out.empty() ? "Nothing was profiled.\n" : out;
}

std::string profile_trace(const Profile& profile) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  out += name_event("process_name", host_process, "host") + ",\n";
  out += name_event("process_name", gpu_process, "GPU") + ",\n";
  out += name_event("thread_name", gpu_process, "kernels");
  for (const ProfileEvent& event : profile.host) out += span_event(event, host_process);
  for (const ProfileEvent& event : profile.gpu) out += span_event(event, gpu_process);
  return out + "]}";
}

Status write_trace(const Profile& profile, const std::filesystem::path& file) {
  if (!write_text_file(file, profile_trace(profile) + '\n')) {
    return fail(ErrorCode::io, "The trace could not be written to \"{}\".", file.string());
  }
  return {};
}

}  // namespace weft::gpu

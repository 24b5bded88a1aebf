#include "device/caps.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "device/least.hpp"
#include "device/matrix_types.hpp"
#include "device/profiles.hpp"

namespace weft {
namespace {

constexpr std::string_view known_words =
    "-f16, -subgroups, -subgroup-matrix, -timestamps, binding=BYTES, buffer=BYTES, bindings=COUNT, "
    "workgroup-memory=BYTES, invocations=COUNT, workgroups=COUNT, alignment=BYTES, "
    "matrices=TYPE-TYPE, profile=NAME";

// The least values with which the library's own kernels can still run.
constexpr std::uint64_t least_binding = 4096;
constexpr std::uint64_t least_buffer = 4096;
constexpr std::uint64_t least_bindings = 4;
constexpr std::uint64_t least_workgroup_memory = 4096;
constexpr std::uint64_t least_workgroups = 256;
constexpr std::uint64_t coarsest_alignment = 1024;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// "128M" → 134217728; the letters K, M and G are powers of 1024.
std::optional<std::uint64_t> parse_amount(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit(rest, end);
  unsigned shift = 0;
  if (unit == "K" || unit == "k") {
    shift = 10;
  } else if (unit == "M" || unit == "m") {
    shift = 20;
  } else if (unit == "G" || unit == "g") {
    shift = 30;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return value << shift;
}

void drop_matrices(Caps& caps) {
  caps.subgroup_matrix = false;
  caps.matrix_configs.clear();
}

void drop_f16(Caps& caps) {
  caps.f16 = false;
  std::erase_if(caps.matrix_configs, [](const MatrixConfig& config) {
    return config.component == MatrixType::f16 || config.result == MatrixType::f16;
  });
  if (caps.matrix_configs.empty()) caps.subgroup_matrix = false;
}

/// Leaves the matrices that turn one type into another, as in "matrices=f16-f16".
Status keep_matrices(Caps& caps, std::string_view word, std::string_view value) {
  const std::size_t dash = std::min(value.find('-'), value.size());
  const auto in = find_matrix_type(value.substr(0, dash));
  const auto out = find_matrix_type(value.substr(std::min(dash + 1, value.size())));
  if (!in || !out) {
    return fail(ErrorCode::invalid_argument,
                "The capability mask has \"{}\", where \"{}\" is not a type, a dash and a type, as "
                "in f16-f32; types are f32, f16, u32, i32, u8 and i8.",
                word, value);
  }
  std::erase_if(caps.matrix_configs, [&](const MatrixConfig& config) {
    return config.component != *in || config.result != *out;
  });
  if (caps.matrix_configs.empty()) caps.subgroup_matrix = false;
  return {};
}

void drop_subgroups(Caps& caps) {
  caps.subgroups = false;
  caps.subgroup_min = 0;
  caps.subgroup_max = 0;
  caps.subgroup_control = false;
  drop_matrices(caps);  // A subgroup matrix is useless without subgroups.
}

template <class T>
Status lower(T& field, std::string_view word, std::string_view value, std::uint64_t least) {
  const std::optional<std::uint64_t> amount = parse_amount(value);
  if (!amount) {
    return fail(
        ErrorCode::invalid_argument,
        "The capability mask has \"{}\", where \"{}\" is not a number with an optional K, M "
        "or G.",
        word, value);
  }
  if (*amount < least) {
    return fail(ErrorCode::invalid_argument,
                "The capability mask has \"{}\", but the least value that works is {}.", word,
                least);
  }
  field = static_cast<T>(std::min<std::uint64_t>(field, *amount));
  return {};
}

/// Coarser binding offsets take something away, so this is the one word that raises its value.
Status coarsen(std::uint32_t& field, std::string_view word, std::string_view value) {
  const std::optional<std::uint64_t> amount = parse_amount(value);
  if (!amount || !std::has_single_bit(*amount) || *amount > coarsest_alignment) {
    return fail(ErrorCode::invalid_argument,
                "The capability mask has \"{}\", where \"{}\" is not a power of two up to {}.",
                word, value, coarsest_alignment);
  }
  field = std::max(field, static_cast<std::uint32_t>(*amount));
  return {};
}

Status apply_word(Caps& caps, std::string_view word) {
  if (word == "-f16") return drop_f16(caps), Status{};
  if (word == "-subgroups") return drop_subgroups(caps), Status{};
  if (word == "-subgroup-matrix") return drop_matrices(caps), Status{};
  if (word == "-timestamps") return caps.timestamps = false, Status{};
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (key == "binding") return lower(caps.max_binding, word, value, least_binding);
    if (key == "buffer") return lower(caps.max_buffer, word, value, least_buffer);
    if (key == "bindings") return lower(caps.max_bindings, word, value, least_bindings);
    if (key == "workgroup-memory") {
      return lower(caps.workgroup_bytes, word, value, least_workgroup_memory);
    }
    if (key == "invocations") {
      return lower(caps.workgroup_invocations, word, value, least_invocations);
    }
    if (key == "profile") {
      Result<Caps> restricted = restrict_to_profile(std::move(caps), value);
      if (!restricted) return std::unexpected(restricted.error());
      caps = std::move(*restricted);
      return {};
    }
    if (key == "matrices") return keep_matrices(caps, word, value);
    if (key == "alignment") return coarsen(caps.binding_alignment, word, value);
    if (key == "workgroups") return lower(caps.max_workgroups, word, value, least_workgroups);
  }
  return fail(ErrorCode::invalid_argument,
              "The capability mask has the unknown word \"{}\"; the known ones are {}.", word,
              known_words);
}

}  // namespace

std::uint32_t subgroup_of(const Caps& caps, const MatrixConfig& config) {
  if (!caps.subgroups || !caps.subgroup_matrix) return 0;
  if (caps.subgroup_min == caps.subgroup_max) {
    return config.subgroup == 0 || config.subgroup == caps.subgroup_max ? caps.subgroup_max : 0;
  }
  const bool offered = config.subgroup >= caps.subgroup_min && config.subgroup <= caps.subgroup_max;
  return caps.subgroup_control && offered ? config.subgroup : 0;
}

Result<Caps> apply_caps_mask(Caps caps, std::string_view mask) {
  while (!mask.empty()) {
    const std::size_t comma = mask.find(',');
    const std::string_view word = trim(mask.substr(0, comma));
    mask = comma == std::string_view::npos ? std::string_view{} : mask.substr(comma + 1);
    if (word.empty()) continue;
    if (Status status = apply_word(caps, word); !status) return std::unexpected(status.error());
  }
  // A binding that no buffer can hold is no capability.
  caps.max_binding = std::min(caps.max_binding, caps.max_buffer);
  return caps;
}

}  // namespace weft

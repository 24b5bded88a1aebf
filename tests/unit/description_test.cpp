// description/*.toml, the kinds of the graph, the elementwise functions and the folders of src/ops
// say the same.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "describe/attributes/slice.hpp"
#include "describe/table.hpp"
#include "formats/ggml_type.hpp"
#include "graph/attributes.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"
#include "ops/map/functions.hpp"

namespace weft {
namespace {

const Described* find(std::string_view name) {
  const auto* found = std::ranges::find(described_functions, name, &Described::name);
  return found == described_functions.end() ? nullptr : found;
}

const graph::Rule* rule_of(std::string_view kind) {
  const auto all = graph::kinds::all();
  const auto found = std::ranges::find(all, kind, &graph::Rule::name);
  return found == all.end() ? nullptr : *found;
}

TEST(Description, EveryKindIsMadeByAFunctionOrIsInternal) {
  for (const graph::Rule* rule : graph::kinds::all()) {
    const bool made = std::ranges::contains(described_functions, rule->name, &Described::kind);
    const bool internal = std::ranges::contains(internal_kinds, rule->name);
    EXPECT_TRUE(made || internal) << "The kind `" << rule->name
                                  << "` of src/graph/kinds has no function in description/*.toml "
                                  << "with kind = \"" << rule->name
                                  << "\"; describe one, or add it to [internal] of graph.toml.";
    EXPECT_FALSE(made && internal) << "`" << rule->name << "` is both internal and described.";
  }
}

TEST(Description, EveryDescribedKindExistsAndHasTheGradientThatIsPromised) {
  for (const Described& function : described_functions) {
    if (function.kind.empty()) continue;
    const graph::Rule* rule = rule_of(function.kind);
    ASSERT_NE(rule, nullptr) << "description/*.toml: `" << function.name << "` has the kind `"
                             << function.kind << "`, which src/graph/kinds.hpp does not list.";
    EXPECT_TRUE(!function.gradient || rule->gradient != nullptr)
        << "`" << function.name << "` is described with a gradient, but the kind `" << function.kind
        << "` has none; write it, or say gradient = false.";
  }
}

/// The words of a C++ file.
void add_words(const std::filesystem::path& path, std::set<std::string>& words) {
  std::ifstream file(path);
  std::string word;
  const auto end = std::istreambuf_iterator<char>();
  for (auto at = std::istreambuf_iterator<char>(file); at != end; ++at) {
    if (std::isalnum(static_cast<unsigned char>(*at)) != 0 || *at == '_') {
      word += *at;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
}

/// Elementwise functions are all differentiated by DeviceGradMap, the kinds of the graph by
/// DeviceGrad.EveryKindHasARow. Functions made of others are found by their names here.
TEST(Description, EveryGradientThatIsPromisedHasARow) {
  // The gradient of fake_quantize goes straight through and is no derivative: DeviceQuantize. The
  // host has no random numbers in double: DeviceGrad.
  const std::set<std::string_view> elsewhere{"fake_quantize", "random_shuffle"};
  std::set<std::string> words;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(WEFT_SOURCE_DIR) / "tests/device")) {
    if (entry.path().filename().string().starts_with("grad_rows")) add_words(entry.path(), words);
  }
  ASSERT_TRUE(words.contains("matmul"));
  EXPECT_FALSE(words.contains("argmax"));  // The test can fail.
  for (const Described& function : described_functions) {
    const bool by_map = function.kind == "map" && !function.map.empty();
    if (!function.gradient || by_map || elsewhere.contains(function.name)) continue;
    EXPECT_TRUE(words.contains(std::string(function.name)))
        << "description/*.toml: `" << function.name << "` promises a gradient that no row of "
        << "tests/device/grad_rows*.cpp checks; add one of its name, or say gradient = false.";
  }
}

struct WithoutText {
  bool operator==(const WithoutText&) const = default;
};
static_assert(graph::HasText<graph::SliceAttributes> && !graph::HasText<WithoutText>);

/// Who forgets the text of attributes gets one error, which says what is missing.
TEST(Description, AttributesWithoutATextAreOneReadableError) {
  if (std::system("c++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no compiler";
  const auto dir = std::filesystem::temp_directory_path() / formatted("weft_text_{}", ::getpid());
  std::filesystem::create_directories(dir);
  const auto compile = [&](std::string_view name, std::string_view text_of) {
    std::ofstream(dir / "own.cpp") << "#include \"graph/attributes.hpp\"\n"
                                      "namespace weft::graph {\n"
                                      "struct OwnAttributes {\n"
                                      "  bool operator==(const OwnAttributes&) const = default;\n"
                                      "};\n"
                                   << text_of
                                   << "Attributes made() { return OwnAttributes{}; }\n"
                                      "}\n";
    const auto log = dir / formatted("{}.log", name);
    const int code =
        std::system(formatted("c++ -std=c++23 -fsyntax-only -I {}/src {} 2> {}", WEFT_SOURCE_DIR,
                              (dir / "own.cpp").string(), log.string())
                        .c_str());
    std::ifstream file(log);
    return std::pair(code, std::string(std::istreambuf_iterator<char>(file), {}));
  };
  const auto [good, nothing] = compile("good", "std::string text_of(const OwnAttributes&);\n");
  EXPECT_EQ(good, 0) << nothing;
  const auto [bad, said] = compile("bad", "");
  EXPECT_NE(bad, 0);
  EXPECT_NE(said.find("have no text"), std::string::npos) << said;
  std::size_t errors = 0;
  for (std::size_t at = said.find("error:"); at != std::string::npos;
       at = said.find("error:", at + 1)) {
    ++errors;
  }
  EXPECT_EQ(errors, 1U) << said;
  std::filesystem::remove_all(dir);
}

/// Forms that are chosen by options of other functions, and what only gradients and plans use.
bool is_part(const ops::map::Function& function) {
  using ops::map::Family;
  static const std::set<std::string_view> forms{
      "copy", "div_scalar", "scalar_div", "gelu_tanh", "gelu_quick", "geglu_tanh", "geglu_quick"};
  return function.family == Family::backward || function.family == Family::source ||
         forms.contains(function.name);
}

TEST(Description, EveryElementwiseFunctionIsDescribed) {
  for (const ops::map::Function& function : ops::map::functions()) {
    if (is_part(function)) continue;
    const Described* found = find(function.name);
    ASSERT_NE(found, nullptr) << "`" << function.name << "` of src/ops/map/functions.cpp is not in "
                              << "description/elementwise.toml.";
    EXPECT_EQ(found->kind, "map") << function.name;
  }
  for (const Described& function : described_functions) {
    if (function.kind != "map" || function.map.empty()) continue;
    EXPECT_NE(ops::map::find_function(function.map), nullptr)
        << "description/elementwise.toml: there is no elementwise function `" << function.map
        << "`.";
  }
}

TEST(Description, EveryFolderWithCasesIsListed) {
  const std::filesystem::path folder = std::filesystem::path(WEFT_SOURCE_DIR) / "src/ops";
  std::ifstream file(folder / "ops.inc");
  const std::string list{std::istreambuf_iterator<char>(file), {}};
  std::size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename();
    const bool has_cases = std::filesystem::exists(entry.path() / (name + ".cases.cpp"));
    const bool listed = list.contains("WEFT_OP(" + name + ")");
    EXPECT_EQ(has_cases, listed) << (has_cases ? "src/ops/ops.inc has no line WEFT_OP(" + name +
                                                     "): its cases never run."
                                               : "src/ops/ops.inc lists " + name +
                                                     ", which has no " + name + ".cases.cpp.");
    folders += listed ? 1 : 0;
  }
  EXPECT_EQ(folders, ops::all_ops().size());
}

TEST(Description, ElementTypesAreThoseOfTheHeader) {
  ASSERT_EQ(described_types.size(), all_dtypes.size() + quantized_dtypes.size())
      << "include/weft/dtypes.hpp is not what description/types.toml says; `tools/check_docs "
         "--fix` "
         "writes it.";
  for (std::size_t i = 0; i < described_types.size(); ++i) {
    const auto type = static_cast<DType>(i);
    const DescribedType& row = described_types[i];
    EXPECT_EQ(name(type), row.name) << "Type " << i << " of include/weft/dtypes.hpp is another one "
                                    << "than row " << i << " of description/types.toml.";
    EXPECT_EQ(block_elements(type), row.elements) << row.name;
    EXPECT_EQ(block_bytes(type), row.bytes) << row.name;
  }
}

TEST(Description, FilesHoldEveryTypeThatHasAName) {
  for (const auto& type : gguf::type_table) {
    const auto dtype = dtype_from_name(type.name);
    if (dtype) {
      EXPECT_EQ(gguf::id_of(*dtype), type.id) << type.name;
    }
  }
  EXPECT_EQ(gguf::id_of(DType::q4_k), 12U);
  EXPECT_EQ(gguf::find_type("q4_k"), gguf::find_type("q4_K"));
}

}  // namespace
}  // namespace weft

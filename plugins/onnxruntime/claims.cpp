#include "claims.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/format.hpp"
#include "importer.hpp"

namespace weft::ort {
namespace {

/// Operations whose results differ from run to run by intention; Weft draws the same numbers each
/// time.
bool is_random(const onnx::Node& node) {
  static const std::set<std::string, std::less<>> names{"Bernoulli",     "Multinomial",
                                                        "RandomNormal",  "RandomNormalLike",
                                                        "RandomUniform", "RandomUniformLike"};
  return names.contains(node.op) || (node.op == "Dropout" && node.inputs.size() > 2);
}

class Judge {
 public:
  Judge(const Api& api, const Device& device, const OrtGraph* graph)
      : api_(api), device_(device), importer_(api), opsets_(importer_.opsets(graph)) {}

  /// Why a node is not taken; nothing if it is.
  std::optional<std::string> refusal(const OrtNode* node, bool is_inside = false) {
    try {
      const char* taken = api_.get<const char*>(api_.ort->Node_GetEpName, node);
      if (taken != nullptr && *taken != '\0') return formatted("it belongs to {}.", taken);
      onnx::Prospect prospect = importer_.prospect(node);
      prospect.may_never_run = is_inside;
      if (is_random(prospect.node)) return "its random numbers would be the same in each run.";
      if (auto why = onnx::refusal(device_, opsets_, importer_.keep(), prospect)) return why;
      for (const OrtGraph* inside : importer_.graphs_in(node)) {
        for (const OrtNode* one : api_.list<const OrtNode*>(api_.ort->Graph_GetNumNodes,
                                                            api_.ort->Graph_GetNodes, inside)) {
          if (auto why = refusal(one, true))
            return formatted("{} inside of it: {}", title(one), *why);
        }
      }
      return std::nullopt;
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::string title(const OrtNode* node) const {
    return formatted("Node '{}' ({})", importer_.title(node),
                     api_.get<const char*>(api_.ort->Node_GetOperatorType, node));
  }

  /// The names of a node's inputs or results, without constants.
  template <class Count, class List>
  std::vector<std::string> names(const OrtNode* node, Count count, List list) const {
    std::vector<std::string> out;
    for (const OrtValueInfo* one : api_.list<const OrtValueInfo*>(count, list, node)) {
      if (one != nullptr && !api_.get<bool>(api_.ort->ValueInfo_IsConstantInitializer, one))
        out.push_back(importer_.name(one));
    }
    return out;
  }

 private:
  const Api& api_;
  Device device_;
  Importer importer_;
  std::map<std::string, std::int64_t> opsets_;
};

/// What the model says of itself has the name of its outermost graph.
bool has_name_of_model(const Api& api, const OrtGraph* graph) {
  const Owned<OrtModelMetadata> model(
      api.get<OrtModelMetadata*>(api.ort->Graph_GetModelMetadata, graph),
      api.ort->ReleaseModelMetadata);
  auto* allocator = api.get<OrtAllocator*>(api.ort->GetAllocatorWithDefaultOptions);
  char* text = api.get<char*>(api.ort->ModelMetadataGetGraphName, model.get(), allocator);
  const std::string outermost = text == nullptr ? "" : text;
  if (text != nullptr) api.check(api.ort->AllocatorFree(allocator, text));
  return outermost == api.get<const char*>(api.ort->Graph_GetName, graph);
}

/// Whether a graph lies inside of a node. ONNX Runtime 1.23 shows bodies before the graphs around
/// them, and does not say that they are some. Mostly they have another name than the model's graph;
/// besides, a branch has no inputs, the body of a loop has those of its counter, and others are
/// known by values from outside.
bool is_body(const Api& api, const OrtGraph* graph) {
  if (api.get<const OrtNode*>(api.ort->Graph_GetParentNode, graph) != nullptr) return true;
  if (!has_name_of_model(api, graph)) return true;
  const Importer importer(api);
  const auto inputs =
      api.list<const OrtValueInfo*>(api.ort->Graph_GetNumInputs, api.ort->Graph_GetInputs, graph);
  const auto outputs =
      api.list<const OrtValueInfo*>(api.ort->Graph_GetNumOutputs, api.ort->Graph_GetOutputs, graph);
  if (inputs.empty()) return true;
  const auto type = [&](const OrtValueInfo* info) { return importer.value(info).type; };
  if (inputs.size() >= 2 && !outputs.empty() && type(inputs[0]) == onnx::Type::i64 &&
      type(inputs[1]) == onnx::Type::boolean && type(outputs[0]) == onnx::Type::boolean)
    return true;
  for (const OrtNode* node :
       api.list<const OrtNode*>(api.ort->Graph_GetNumNodes, api.ort->Graph_GetNodes, graph)) {
    for (const OrtValueInfo* input :
         api.list<const OrtValueInfo*>(api.ort->Node_GetNumInputs, api.ort->Node_GetInputs, node)) {
      if (input != nullptr && api.get<bool>(api.ort->ValueInfo_IsFromOuterScope, input))
        return true;
    }
  }
  return false;
}

/// The names of those of a node's values that are sequences.
std::vector<std::string> sequences_of(const Importer& importer, const Api& api,
                                      const OrtNode* node) {
  std::vector<std::string> out;
  const auto add = [&](auto count, auto list) {
    for (const OrtValueInfo* one : api.list<const OrtValueInfo*>(count, list, node)) {
      if (one == nullptr) continue;
      const auto* type = api.get<const OrtTypeInfo*>(api.ort->GetValueInfoTypeInfo, one);
      if (importer.type_in_sequence(type) != onnx::Type::none) out.push_back(importer.name(one));
    }
  };
  add(api.ort->Node_GetNumInputs, api.ort->Node_GetInputs);
  add(api.ort->Node_GetNumImplicitInputs, api.ort->Node_GetImplicitInputs);
  add(api.ort->Node_GetNumOutputs, api.ort->Node_GetOutputs);
  return out;
}

/// A node of a graph, with what is to be known to put it into a group.
struct Entry {
  const OrtNode* node = nullptr;
  std::vector<std::string> inputs;
  std::vector<std::string>
      from_outside;  ///< Values that graphs inside of it read, without constants.
  std::vector<std::string> outputs;
  std::vector<std::string> sequences;  ///< Those of all of these that are sequences.
  std::optional<std::string> refusal;
};

/// Our nodes by level: how often paths to a node leave our nodes. Those of one level can be one
/// node, and follow lower levels only.
std::map<std::size_t, std::vector<Entry*>> levels_of(std::vector<Entry>& entries) {
  struct Origin {
    std::size_t level = 0;
    bool is_ours = false;
  };
  std::map<std::string, Origin> origins;
  std::map<std::size_t, std::vector<Entry*>> out;
  for (Entry& entry : entries) {
    Origin here{.level = 0, .is_ours = !entry.refusal};
    for (const auto* names : {&entry.inputs, &entry.from_outside}) {
      for (const std::string& name : *names) {
        const auto found = origins.find(name);
        if (found == origins.end()) continue;
        const Origin& from = found->second;
        here.level = std::max(here.level, from.level + (from.is_ours && !here.is_ours ? 1 : 0));
      }
    }
    for (const std::string& name : entry.outputs) origins[name] = here;
    if (here.is_ours) out[here.level].push_back(&entry);
  }
  return out;
}

/// ONNX Runtime gives a group what its nodes take as inputs, and not what only graphs inside of
/// them read. Refuses nodes that would miss something; whether there were any.
bool refuse_cut_off(const std::map<std::size_t, std::vector<Entry*>>& levels) {
  bool any = false;
  for (const auto& [level, group] : levels) {
    std::set<std::string> there;
    for (const Entry* entry : group) {
      there.insert(entry->inputs.begin(), entry->inputs.end());
      there.insert(entry->outputs.begin(), entry->outputs.end());
    }
    for (Entry* entry : group) {
      for (const std::string& name : entry->from_outside) {
        if (there.contains(name) || entry->refusal) continue;
        entry->refusal = formatted("only a graph inside of it reads '{}'.", name);
        any = true;
      }
    }
  }
  return any;
}

/// Only tensors go into a group and out of it. Refuses nodes whose sequences would; whether there
/// were any.
bool refuse_open_sequences(std::vector<Entry>& entries, const std::set<std::string>& ports,
                           const std::map<std::size_t, std::vector<Entry*>>& levels) {
  std::map<const Entry*, std::size_t> groups;
  for (const auto& [level, group] : levels)
    for (const Entry* entry : group) groups.emplace(entry, level + 1);
  std::map<std::string, std::set<std::size_t>> where;  // 0: in none
  for (const Entry& entry : entries) {
    const auto found = groups.find(&entry);
    for (const std::string& name : entry.sequences)
      where[name].insert(found == groups.end() || entry.refusal ? 0 : found->second);
  }
  for (const std::string& name : ports) where[name].insert(0);
  bool any = false;
  for (Entry& entry : entries) {
    for (const std::string& name : entry.sequences) {
      const std::set<std::size_t>& all = where[name];
      if (entry.refusal || (all.size() == 1 && !all.contains(0))) continue;
      entry.refusal =
          formatted("the sequence '{}' would be the input or the result of a group.", name);
      any = true;
    }
  }
  return any;
}

}  // namespace

Claims claims_of(const Api& api, const Device& device, const OrtGraph* graph) {
  Claims out;
  // The body of a loop or a branch goes along with the node around it. ONNX Runtime 1.23 gives two
  // groups of one model the same name if they are in different graphs, and then fails.
  if (is_body(api, graph)) return out;

  Judge judge(api, device, graph);
  const Importer importer(api);
  std::vector<Entry> entries;
  for (const OrtNode* node :
       api.list<const OrtNode*>(api.ort->Graph_GetNumNodes, api.ort->Graph_GetNodes, graph)) {
    entries.push_back(
        {.node = node,
         .inputs = judge.names(node, api.ort->Node_GetNumInputs, api.ort->Node_GetInputs),
         .from_outside =
             judge.names(node, api.ort->Node_GetNumImplicitInputs, api.ort->Node_GetImplicitInputs),
         .outputs = judge.names(node, api.ort->Node_GetNumOutputs, api.ort->Node_GetOutputs),
         .sequences = sequences_of(importer, api, node),
         .refusal = judge.refusal(node)});
  }
  std::set<std::string> ports;
  for (const OrtValueInfo* one :
       api.list<const OrtValueInfo*>(api.ort->Graph_GetNumInputs, api.ort->Graph_GetInputs, graph))
    ports.insert(importer.name(one));
  for (const OrtValueInfo* one : api.list<const OrtValueInfo*>(api.ort->Graph_GetNumOutputs,
                                                               api.ort->Graph_GetOutputs, graph))
    ports.insert(importer.name(one));
  auto levels = levels_of(entries);
  while (refuse_cut_off(levels) || refuse_open_sequences(entries, ports, levels))
    levels = levels_of(entries);
  for (const Entry& entry : entries) {
    if (entry.refusal)
      out.refused.push_back(formatted("{}: {}", judge.title(entry.node), *entry.refusal));
  }
  for (const auto& [level, group] : levels) {
    std::vector<const OrtNode*>& nodes = out.groups.emplace_back();
    for (const Entry* entry : group) nodes.push_back(entry->node);
  }
  return out;
}

}  // namespace weft::ort

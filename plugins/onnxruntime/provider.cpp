#include "provider.hpp"

#include <fstream>

#include "base/format.hpp"
#include "claims.hpp"
#include "subgraph.hpp"
#include "weft/profile.hpp"

namespace weft::ort {

Provider::Provider(const Api& api, Memory& memory, std::shared_ptr<Accelerator> where,
                   const OrtLogger* logger, std::filesystem::path profile)
    : OrtEp{},
      api_(&api),
      memory_(&memory),
      where_(std::move(where)),
      logger_(logger),
      profile_(std::move(profile)) {
  ort_version_supported = ORT_API_VERSION;
  GetName = name;
  GetCapability = claim;
  Compile = compile;
  ReleaseNodeComputeInfos = release_infos;
}

Provider::~Provider() {
  if (profile_.empty()) return;
  try {
    std::ofstream file(profile_);
    file << take_profile(where_->device).trace;
    file.close();
    if (!file)
      log(ORT_LOGGING_LEVEL_ERROR, formatted("{} could not be written.", profile_.string()));
  } catch (const std::exception& error) {
    log(ORT_LOGGING_LEVEL_ERROR, formatted("There is no profile: {}", error.what()));
  }
}

void Provider::log(OrtLoggingLevel level, const std::string& message) const {
  if (OrtStatus* status =
          api_->ort->Logger_LogMessage(logger_, level, message.c_str(), "weft", 0, provider_name))
    api_->ort->ReleaseStatus(status);
}

const char* Provider::name(const OrtEp* /*self*/) noexcept { return provider_name; }

OrtStatus* Provider::claim(OrtEp* self, const OrtGraph* graph,
                           OrtEpGraphSupportInfo* support) noexcept {
  const Provider& me = *static_cast<Provider*>(self);
  if (me.has_compiled_) return nullptr;  // A second time would give the same names to other groups.
  return me.api_->guarded([&] {
    const Claims claims = claims_of(*me.api_, me.where_->device, graph);
    OrtNodeFusionOptions options{};
    options.ort_version_supported = ORT_API_VERSION;
    options.drop_constant_initializers = true;  // They are copied when a group is compiled.
    std::size_t count = 0;
    for (const std::vector<const OrtNode*>& group : claims.groups) {
      me.api_->check(me.api_->ep->EpGraphSupportInfo_AddNodesToFuse(support, group.data(),
                                                                    group.size(), &options));
      count += group.size();
    }
    me.log(ORT_LOGGING_LEVEL_INFO, formatted("Weft takes {} nodes in {} groups and leaves {}.",
                                             count, claims.groups.size(), claims.refused.size()));
    for (const std::string& sentence : claims.refused) me.log(ORT_LOGGING_LEVEL_INFO, sentence);
  });
}

OrtStatus* Provider::compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused,
                             std::size_t count, OrtNodeComputeInfo** infos,
                             OrtNode** /*contexts*/) noexcept {
  Provider& me = *static_cast<Provider*>(self);
  return me.api_->guarded([&] {
    me.has_compiled_ = true;
    for (std::size_t i = 0; i < count; ++i)  // Those that were made are released by ONNX Runtime.
      infos[i] = std::make_unique<Subgraph>(*me.api_, *me.memory_, me.where_, graphs[i], fused[i])
                     .release();
  });
}

void Provider::release_infos(OrtEp* /*self*/, OrtNodeComputeInfo** infos,
                             std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) delete static_cast<Subgraph*>(infos[i]);
}

}  // namespace weft::ort

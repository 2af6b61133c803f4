// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules of a running server as operators read, try and set them. Whatever a message says, the
// answer is a table; rules that the engine would refuse never reach it.
#pragma once

#include <nlohmann/json.hpp>

#include "purview/server.hpp"
#include "scene/rule_text.hpp"

namespace purview::admin {

class RuleDesk {
  public:
    /// The server must outlive the desk.
    RuleDesk(Server& server, scene::RuleNames names, bool read_only);

    /// {"op": "rules", ...}
    nlohmann::json rules();
    /// What about the rules that run is dear, or never true.
    /// {"op": "try_rules", ...} or {"op": "error", ...}
    nlohmann::json try_rules(const nlohmann::json& message);
    /// Null: they are set; else {"op": "error", ...}, and nothing was changed.
    nlohmann::json set_rules(const nlohmann::json& message);

    /// Relevant entities, one for each observer that each is relevant to, that rules may make; more
    /// only by force.
    std::uint64_t pairs_max = 400'000;
    void set_sight_def(const Kernel& def) { names_.sight_def = def; }
    const scene::RuleNames& names() const noexcept { return names_; }

  private:
    /// Kernels of the host's own that nobody named are called by number, for good.
    void name_kernels();
    std::string problem_of_cost(const Rules& rules) const;
    scene::Loaded<Rules> compile(const nlohmann::json& message);

    Server* server_;
    scene::RuleNames names_;
    bool read_only_;
};

}  // namespace purview::admin

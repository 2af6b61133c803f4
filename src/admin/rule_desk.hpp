// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Reads, tries and sets the rules of a running server for operators. Every message is answered with
// a JSON object. Rules that the engine would refuse are never applied.
#pragma once

#include <nlohmann/json.hpp>

#include "purview/server.hpp"
#include "scene/rule_text.hpp"

namespace purview::admin {

class RuleDesk {
  public:
    /// The server must outlive the desk.
    RuleDesk(Server& server, scene::RuleNames names, bool read_only);

    /// Returns {"op": "rules", ...}, with warnings about expensive rules and rules that never
    /// match.
    nlohmann::json rules();
    /// Returns {"op": "try_rules", ...} or {"op": "error", ...}.
    nlohmann::json try_rules(const nlohmann::json& message);
    /// Returns null if the rules were set; otherwise {"op": "error", ...}, and nothing was changed.
    nlohmann::json set_rules(const nlohmann::json& message);

    /// Maximum number of relevant entities, summed over all observers, that new rules may cause
    /// without `force`.
    std::uint64_t pairs_max = 400'000;
    void set_sight_def(const Kernel& def) { names_.sight_def = def; }
    const scene::RuleNames& names() const noexcept { return names_; }

  private:
    /// Assigns permanent numbers as names to custom kernels that have no name.
    void name_kernels();
    std::string problem_of_cost(const Rules& rules) const;
    scene::Loaded<Rules> compile(const nlohmann::json& message);

    Server* server_;
    scene::RuleNames names_;
    bool read_only_;
};

}  // namespace purview::admin

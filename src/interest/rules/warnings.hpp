// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Warnings about rules that are valid but probably unintended.
#pragma once

#include <string>
#include <vector>

#include "purview/log.hpp"
#include "purview/rules.hpp"
#include "purview/types.hpp"

namespace purview {

/// Appends warnings about bindings of kinds that are valid but probably unintended.
void warn_of_kinds(const Rules& rules, std::vector<std::string>& out);

/// Logs warnings. The warning about an uncovered entity is logged once until the rules change.
class RuleWarnings {
  public:
    explicit RuleWarnings(const LogSink& log) : log_(log) {}

    void write(const std::vector<std::string>& warnings) const;
    /// `kind`: the rules of the entity's kind, or null.
    void warn_of_uncovered(EntityId entity, const KindRules* kind, const Rules& rules);
    void rules_changed() noexcept { has_uncovered_ = false; }
    void set_log(const LogSink& log) { log_ = log; }

  private:
    LogSink log_;
    bool has_uncovered_ = false;
};

}  // namespace purview

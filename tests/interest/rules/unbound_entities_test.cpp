// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Entities that are bound to no node: a default node covers them, or there is a warning.
#include <string>
#include <utility>
#include <vector>

#include "purview/presets.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines::unbound_entities {

namespace {

/// Returns whether there is a warning that no node covers a kind without nodes.
bool warns(std::vector<NodeDef> nodes) {
    Rules def = def_of(std::move(nodes));
    def.kinds.resize(1);
    const InterestManager manager = make(def);
    for (const std::string& warning : manager.warnings()) {
        if (warning.find("bound to no node") != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("unbound entities: rules without a node for them cause a warning" *
          doctest::test_suite("N58")) {
    const NodeDef bound = node("bound", {within(Combine::add, 10)}, Members::bound);
    NodeDef off = node("off", {}, Members::unbound);
    off.enabled = false;
    CHECK(warns({bound}));
    CHECK(warns({bound, node("other", {}, Members::bound)}));
    CHECK(warns({bound, off}));  // a disabled node covers nothing
    CHECK_FALSE(warns({}));      // every observer is sent everything
    CHECK_FALSE(warns({bound, node("default", {}, Members::unbound)}));
    CHECK_FALSE(warns({bound, node("all", {within(Combine::add, 5)})}));
    CHECK_FALSE(warns({node("all", {})}));
}

TEST_CASE("unbound entities: the presets cover them" * doctest::test_suite("N58 N3")) {
    for (const Preset begun : {Preset::ngo, Preset::mirror, Preset::fusion, Preset::phaser}) {
        CAPTURE(static_cast<int>(begun));
        Rules def = preset(begun);
        def.max = {100, 100, def.axes == Axes::xyz ? 100.0F : 0.0F};
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 52);
        const ObserverId observer = watch(manager, id(0));
        CHECK(manager.set_area(observer, 1, Area::sphere({50, 50, 0}, 10)) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 1});
        // A further node for bound entities does not change that.
        Rules rules = manager.rules();
        rules.nodes.push_back(node("extra", {}, Members::bound));
        CHECK(manager.set_rules(rules) == "");
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

}  // namespace purview::test::lines::unbound_entities

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Settings that are fixed at creation: set_rules refuses to change them.
#include <doctest/doctest.h>

#include <string>

#include "interest/rules/rule_problems.hpp"
#include "purview/rules.hpp"

namespace purview::test {

TEST_CASE("rules: a change of a setting that is fixed at creation is named") {
    Rules made;
    made.max = {300, 300, 0};
    made.range_classes = {10, 100};
    made.flag("cloaked");
    made.flag("on fire");
    made.for_kind(made.kind("wolf")).needs_node = true;
    CHECK(change_of_fixed(made, made) == "");
    CHECK(change_of_fixed(Rules(), made) == "");  // default values count as unset

    const auto name_of = [&](auto&& edit) {
        Rules wanted = made;
        edit(wanted);
        const std::string text = change_of_fixed(wanted, made);
        return text.substr(0, text.find(' '));
    };
    CHECK(name_of([](Rules& r) { r.axes = Axes::xyz; }) == "axes");
    CHECK(name_of([](Rules& r) { r.min = {-5, 0, 0}; }) == "min");
    CHECK(name_of([](Rules& r) { r.max = {600, 300, 0}; }) == "max");
    CHECK(name_of([](Rules& r) { r.cell_size = 7; }) == "cell_size");
    CHECK(name_of([](Rules& r) { r.entities_expected = 5; }) == "entities_expected");
    CHECK(name_of([](Rules& r) { r.range_classes = {10}; }) == "range_classes");
    CHECK(name_of([](Rules& r) { r.observer_range_max = 5; }) == "observer_range_max");
    CHECK(name_of([](Rules& r) { r.group_radius_max = 5; }) == "group_radius_max");
    CHECK(name_of([](Rules& r) { r.observers_max = 5; }) == "observers_max");
    CHECK(name_of([](Rules& r) { r.areas_max = 5; }) == "areas_max");
    CHECK(name_of([](Rules& r) { r.single_area = true; }) == "single_area");
    CHECK(name_of([](Rules& r) { r.ready_requires_viewpoint = true; }) ==
          "ready_requires_viewpoint");
    CHECK(name_of([](Rules& r) { r.owner_sees = false; }) == "owner_sees");
    CHECK(name_of([](Rules& r) { r.count_observers = true; }) == "count_observers");
    CHECK(name_of([](Rules& r) { r.measure_scores = true; }) == "measure_scores");
    CHECK(name_of([](Rules& r) { r.kinds[0].needs_node = false; }) == "kinds");
    CHECK(name_of([](Rules& r) { r.kinds.resize(3); }) == "");  // kinds without rules
    CHECK(name_of([](Rules& r) { r.flag("muted"); }) == "flag_names");
    CHECK(name_of([](Rules& r) { r.flag_names.pop_back(); }) == "");
    CHECK(name_of([](Rules& r) { r.key("team"); }) == "key_names");
    CHECK(name_of([](Rules& r) { r.value("level"); }) == "value_names");
    CHECK(name_of([](Rules& r) { r.kind("fox"); }) == "kind_names");
    CHECK(name_of([](Rules& r) { r.node("far").add(within(5)); }) == "");
    CHECK(name_of([](Rules& r) { r.level = InterestLevel::none; }) == "");
}

}  // namespace purview::test

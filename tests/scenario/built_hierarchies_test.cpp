// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A hierarchy that exists before the first tick, as from an editor, behaves like one that is built
// while clients are connected.
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "net.hpp"

namespace purview::test::built_hierarchies {

namespace {

enum class Built { before_the_first_tick, while_it_runs, in_another_order };

/// A carrier with a crew, and a boat on board with its own crew. Entity 0 is the carrier.
class Fleet {
  public:
    static constexpr std::uint32_t count = 9;

    explicit Fleet(Built built, const Faults& faults) : net_(is_, 0, def_of(is_), faults, 4) {
        if (built == Built::before_the_first_tick) {
            for (std::uint32_t i = 0; i < count; ++i) make(i);
            for (std::uint32_t i = 1; i < count; ++i) link(i);
        }
        for (std::uint32_t c = 0; c < 2; ++c) {
            (void)net_.connect();
            for (int i = 0; i < 300 && net_.joined_count <= c; ++i) net_.step();
        }
        REQUIRE(net_.joined_count == 2);
        CHECK(net_.visibility().set_area(net_.observer(0), 0, Area::at({})) == Status::ok);
        CHECK(net_.visibility().set_area(net_.observer(1), 0, Area::at({150, 0, 0})) == Status::ok);
        if (built == Built::while_it_runs) {
            for (std::uint32_t i = 0; i < count; ++i) {
                make(i);
                net_.step(1 + i % 3);
            }
            for (std::uint32_t i = 1; i < count; ++i) {
                link(i);
                net_.step(i % 3);
            }
        }
        if (built == Built::in_another_order) {
            for (std::uint32_t i = count; i > 0; --i) make(i - 1);
            net_.step(2);
            // Attaches below another parent first, from the bottom up.
            for (std::uint32_t i = count - 1; i > 1; --i)
                CHECK(net_.world().attach(all_[i], all_[i - 1]) == Status::ok);
            net_.step(3);
            for (std::uint32_t i = 2; i < count; ++i)
                CHECK(net_.world().detach(all_[i]) == Status::ok);
            net_.step(2);
            for (std::uint32_t i = 1; i < count; ++i) link(i);
        }
        // Sets the owner of the carrier and of one member.
        CHECK(net_.world().set_owner(all_[0], net_.observer(0)) == Status::ok);
        CHECK(net_.world().set_owner(all_[6], net_.observer(1)) == Status::ok);
        // The hierarchy is complete. All positions are the same from here on.
        CHECK(net_.world().move(all_[0], {}) == Status::ok);
        for (std::uint32_t i = 1; i < count; ++i)
            CHECK(net_.world().set_local_position(all_[i], {static_cast<float>(i), 1, 0}) ==
                  Status::ok);
        CHECK(net_.settle() == "");
    }

    /// Describes the hierarchy on the server and both clients, by entity number.
    std::string description() {
        CHECK(net_.settle() == "");
        World& world = net_.world();
        std::map<EntityId, std::string> names{{EntityId::none, "-"}};
        std::map<std::uint32_t, std::string> by_tag;
        for (std::uint32_t i = 0; i < count; ++i) {
            names[all_[i]] = std::to_string(i);
            if (world.is_alive(all_[i])) by_tag[net_.tag_of(all_[i])] = std::to_string(i);
        }
        std::string text;
        for (std::uint32_t i = 0; i < count; ++i) {
            const EntityId entity = all_[i];
            text += names[entity] + (world.is_alive(entity) ? ":" : " gone");
            if (!world.is_alive(entity)) continue;
            text += " parent " + names[world.parent_of(entity)] + ", group parent " +
                    names[world.group_parent_of(entity)] + ", root " + names[world.root_of(entity)];
            const ObserverId owner = world.owner_of(entity);
            text += ", owner " + std::string(owner == ObserverId::none   ? "-"
                                             : owner == net_.observer(0) ? "first"
                                                                         : "second");
            const Vec3 at = world.position_of(entity);
            text += ", at " + std::to_string(at.x) + " " + std::to_string(at.y);
            text += ", children";
            for (const EntityId child : world.children_of(entity)) text += " " + names[child];
            text += ", input";
            for (const EntityId member : net_.server->input_order(entity))
                text += " " + names[member];
            for (std::uint32_t c = 0; c < 2; ++c) {
                const GhostId ghost = net_.ghost(c, entity);
                text += ", client ";
                if (ghost == GhostId::none) {
                    text += "has no ghost";
                    continue;
                }
                const auto name = [&](GhostId one) {
                    if (one == GhostId::none) return std::string("-");
                    return by_tag[static_cast<std::uint32_t>(
                        net_.client(c).value_of(one, is_.tag.id, 0))];
                };
                text += name(net_.client(c).parent_of(ghost)) + " " +
                        name(net_.client(c).root_of(ghost));
            }
            text += "\n";
        }
        return text;
    }
    World& world() { return net_.world(); }
    Net& net() { return net_; }
    EntityId at(std::uint32_t i) const { return all_[i]; }

  private:
    static ServerDef def_of(TagSchema& setup) {
        // The boat takes input after the crew of the carrier, with its own crew behind it.
        setup.schema.edit_kind(setup.named).is_inner_root = true;
        setup.schema.edit_kind(setup.named).relative_position = true;
        ServerDef def = setup.def;
        def.rules.kinds[index_of(setup.named)].mode = EntityMode::nodes;
        NodeDef near;
        near.name = "near";
        near.add(within(60));
        def.rules.nodes = {near};
        return def;
    }
    void make(std::uint32_t i) {
        if (all_.size() < count) all_.resize(count, EntityId::none);
        const KindId kind = i == 0 ? is_.thing : i == 3 ? is_.named : is_.rider;
        all_[i] = net_.spawn(kind, {static_cast<float>(i) * 2, 3, 0});
    }
    void link(std::uint32_t child) {
        // 1, 2, 3 and 8 are children of the carrier, 4 of 2, 5 and 6 of the boat (3), and 7 of 6.
        static constexpr std::uint32_t parents[count] = {0, 0, 0, 0, 2, 3, 3, 6, 0};
        CHECK(net_.world().attach(all_[child], all_[parents[child]],
                                  child == 8 ? OwnerPolicy::inherit : OwnerPolicy::automatic) ==
              Status::ok);
    }

    TagSchema is_;
    Net net_;
    std::vector<EntityId> all_;
};

/// Later changes, which are applied to each fleet.
std::vector<std::pair<std::string, std::function<void(Fleet&)>>> later() {
    const auto ok = [](Status status) { CHECK(status == Status::ok); };
    return {
        {"nothing", [](Fleet&) {}},
        {"the carrier moves from one view to the other",
         [=](Fleet& fleet) {
             ok(fleet.world().move(fleet.at(0), {150, 0, 0}));
         }},
        {"the carrier returns", [=](Fleet& fleet) { ok(fleet.world().move(fleet.at(0), {})); }},
        {"the boat is detached", [=](Fleet& fleet) { ok(fleet.world().detach(fleet.at(3))); }},
        {"the boat moves away",
         [=](Fleet& fleet) {
             ok(fleet.world().move(fleet.at(3), {150, 3, 0}));
         }},
        {"the boat is attached again",
         [=](Fleet& fleet) { ok(fleet.world().attach(fleet.at(3), fleet.at(0))); }},
        {"a member is disabled in its group",
         [=](Fleet& fleet) { ok(fleet.world().set_group_enabled(fleet.at(2), false)); }},
        {"the member is enabled again",
         [=](Fleet& fleet) { ok(fleet.world().set_group_enabled(fleet.at(2), true)); }},
        {"a member is hidden from the first client",
         [=](Fleet& fleet) {
             ok(fleet.net().visibility().deny(fleet.net().observer(0), fleet.at(6), true));
         }},
        {"the member is shown again",
         [=](Fleet& fleet) {
             ok(fleet.net().visibility().deny(fleet.net().observer(0), fleet.at(6), false));
         }},
        {"the carrier gets another owner",
         [=](Fleet& fleet) { ok(fleet.world().set_owner(fleet.at(0), fleet.net().observer(1))); }},
        {"a member no longer takes input",
         [=](Fleet& fleet) { ok(fleet.net().server->set_in_input(fleet.at(2), false)); }},
        {"a member changes its parent",
         [=](Fleet& fleet) { ok(fleet.world().attach(fleet.at(4), fleet.at(5))); }},
        {"a cycle is refused",
         [](Fleet& fleet) {
             CHECK(fleet.world().attach(fleet.at(0), fleet.at(7)) == Status::would_cycle);
         }},
        {"the carrier is despawned", [=](Fleet& fleet) { ok(fleet.world().despawn(fleet.at(0))); }},
    };
}

}  // namespace

TEST_CASE("hierarchy: built before the first tick or while connected, it behaves the same" *
          doctest::test_suite("O15")) {
    for (const Faults& faults : {Faults{}, Faults{0.25F, 0.03F, 0, 20'000, 50'000}}) {
        CAPTURE(faults.loss);
        Fleet edited(Built::before_the_first_tick, faults);
        Fleet built(Built::while_it_runs, faults);
        Fleet turned(Built::in_another_order, faults);
        std::string last;
        for (const auto& [what, change] : later()) {
            const std::string step = what;
            CAPTURE(step);
            for (Fleet* fleet : {&edited, &built, &turned}) change(*fleet);
            const std::string expected = edited.description();
            CHECK(built.description() == expected);
            CHECK(turned.description() == expected);
            // Each of these steps must change the description.
            if (what != "a cycle is refused" && what != "a member no longer takes input")
                CHECK(expected != last);
            last = expected;
        }
        for (Fleet* fleet : {&edited, &built, &turned}) fleet->net().check_streams();
    }
}

}  // namespace purview::test::built_hierarchies

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Small worlds for tests of single behaviors: short forms for nodes, entities, observers, and the
// steps of steps.hpp.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "print_set.hpp"
#include "purview/extend/memory.hpp"
#include "purview/extend/node.hpp"
#include "purview/interest.hpp"
#include "steps.hpp"

namespace purview::test::lines {

using purview::Stage;                 ///< the stage of an explanation, not stage.hpp
using Set = std::set<std::uint32_t>;  ///< entities by index

inline EntityId id(std::uint32_t index) {
    return make_entity_id(index, 1);
}

// -- memory ---------------------------------------------------------------------------------------

/// Counts the memory of the engine's large arrays during its lifetime.
class CountedMemory {
  public:
    CountedMemory() { set_memory_hooks({allocate, release, this}); }
    ~CountedMemory() { set_memory_hooks({}); }
    CountedMemory(const CountedMemory&) = delete;
    CountedMemory& operator=(const CountedMemory&) = delete;
    std::size_t held = 0;
    std::size_t calls = 0;

  private:
    static void* allocate(std::size_t bytes, std::size_t alignment, void* user) {
        auto& self = *static_cast<CountedMemory*>(user);
        self.held += bytes;
        ++self.calls;
        return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    static void release(void* memory, std::size_t bytes, std::size_t, void* user) {
        static_cast<CountedMemory*>(user)->held -= bytes;
        std::free(memory);
    }
};

// -- custom nodes ---------------------------------------------------------------------------------

inline NodeDef own_node(std::string name, std::shared_ptr<CustomNode> custom,
                        Members members = Members::all) {
    NodeDef own = node(std::move(name), {}, members);
    own.custom = std::move(custom);
    return own;
}
inline NodeDef dispatched(std::string name, std::shared_ptr<const Dispatcher> dispatcher,
                          std::vector<Kernel> steps = {}, Members members = Members::all) {
    NodeDef outer = node(std::move(name), std::move(steps), members);
    outer.dispatcher = std::move(dispatcher);
    return outer;
}

constexpr NodeId node0 = id_at<NodeId>(0), node1 = id_at<NodeId>(1), node2 = id_at<NodeId>(2);
using Members = purview::Members;

/// Rules with three flags, two key domains and two values, for a square of 100 m.
inline Rules def_of(std::vector<NodeDef> nodes) {
    Rules def;
    def.max = {100, 100, 100};
    def.entities_expected = 100;
    def.nodes = std::move(nodes);
    def.flag_names.resize(3);
    def.key_names.resize(2);
    def.value_names.resize(2);
    return def;
}
inline InterestManager make(const Rules& rules) {
    REQUIRE(problem_of(rules) == "");
    return InterestManager(rules);
}
inline InterestManager make(std::vector<NodeDef> nodes) {
    return make(def_of(std::move(nodes)));
}

// -- worlds ---------------------------------------------------------------------------------------

/// Use only within one expression: the definition refers to `nodes` and does not copy them.
inline EntityDef bound_to(float x, std::initializer_list<NodeId> nodes, std::uint16_t flags = 0) {
    EntityDef def;
    def.position = {x, 50, 0};
    def.nodes = std::span(nodes.begin(), nodes.size());
    def.flags = FlagSet(flags);
    return def;
}
inline EntityId spawn(InterestManager& manager, std::uint32_t index, EntityDef def) {
    def.id = id(index);
    CHECK(manager.spawn(def) == id(index));
    return id(index);
}
inline EntityId spawn(InterestManager& manager, std::uint32_t index, float x, float y = 50) {
    EntityDef def;
    def.position = {x, y, 0};
    return spawn(manager, index, def);
}
inline void put(InterestManager& manager, std::uint32_t index, float x, float y = 50) {
    CHECK(manager.move(id(index), {x, y, 0}) == Status::ok);
}
/// Adds a ready observer. Without a main entity it is a spectator.
inline ObserverId watch(InterestManager& manager, EntityId main = EntityId::none) {
    return manager.add_observer({.viewpoint = main});
}

/// Returns the relevant set. Each entity must be listed once.
inline Set seen(const InterestManager& manager, ObserverId observer) {
    std::vector<EntityId> out;
    manager.relevant(observer, out);
    Set indices;
    for (const EntityId entity : out) indices.insert(index_of(entity));
    CHECK(indices.size() == out.size());
    return indices;
}
inline Set ticked(InterestManager& manager, ObserverId observer) {
    manager.tick();
    return seen(manager, observer);
}

/// Entities that entered and left in the last tick.
struct News {
    Set in;
    Set out;
    friend bool operator==(const News&, const News&) = default;
};
inline News news(const InterestManager& manager, ObserverId observer) {
    News news;
    for (const InterestEvent& event : manager.events(observer))
        (event.enter ? news.in : news.out).insert(index_of(event.entity));
    CHECK(news.in.size() + news.out.size() == manager.events(observer).size());
    return news;
}
inline News tick_news(InterestManager& manager, ObserverId observer) {
    manager.tick();
    return news(manager, observer);
}
/// Used by doctest for output.
inline doctest::String toString(const News& news) {
    return ("in " + to_text(news.in) + ", out " + to_text(news.out)).c_str();
}

/// Returns the explanation of the node with this name.
inline ExplainedNode explained(const InterestManager& manager, ObserverId observer, EntityId entity,
                               const std::string& name) {
    for (const ExplainedNode& node : manager.explain(observer, entity).nodes) {
        if (node.name == name) return node;
    }
    FAIL("no such node: " << name);
    return {};
}

}  // namespace purview::test::lines

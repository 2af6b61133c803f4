// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Enter and leave events on the server and on clients.
#include <functional>
#include <map>
#include <set>

#include "purview/host_view.hpp"
#include "purview/presets.hpp"
#include "support/stage.hpp"
#include "support/steps.hpp"

namespace purview::test {

namespace {

struct Lamp {
    std::uint16_t light = 0;
};
struct Sound {
    std::uint16_t volume = 0;
};

struct LampSchema {
    LampSchema() {
        lamp = schema.component<Lamp>("lamp").integer("light", &Lamp::light, 0, 1000);
        sound = schema.component<Sound>("sound").integer("volume", &Sound::volume, 0, 1000);
        street = schema.kind("street", {lamp.id});
        radio = schema.kind("radio", {lamp.id, sound.id});
        schema.edit_kind(street).leave = Retention::freeze;
        schema.edit_kind(street).retention_ticks = 50;
        REQUIRE(schema.problem().empty());
        def.rules.kinds.resize(2);
        for (auto& kind : def.rules.kinds) kind.mode = EntityMode::explicit_only;
    }
    Schema schema;
    Component<Lamp> lamp;
    Component<Sound> sound;
    KindId street{}, radio{};
    ServerDef def;
};

/// Boats are retained when they leave. Sailors are culled independently and keep their boats
/// relevant.
struct HarbourSchema {
    HarbourSchema() {
        position = add_position(schema, 0, 2000);
        boat = schema.kind("boat", {position.id});
        sailor = schema.kind("sailor", {position.id});
        schema.edit_kind(boat).leave = Retention::freeze;
        schema.edit_kind(boat).retention_ticks = 10'000;
        REQUIRE(schema.problem().empty());
        def.rules.max = {2000, 2000, 0};
        def.rules.nodes = {lines::node("near", {within(100)})};
        def.rules.kinds.resize(2);
        def.rules.kinds[index_of(sailor)].culled_independently = true;
        def.rules.kinds[index_of(sailor)].keeps_ancestors = true;
    }
    static constexpr Vec3 near{1000, 1000, 0}, far{200, 200, 0};
    Schema schema;
    Component<Position> position;
    KindId boat{}, sailor{};
    ServerDef def;
};

template <class Event>
struct ReceivedPosition final : Listeners<Event>::Listener {
    void entered(const Event& event) override {
        ++in;
        last = event;
        if (on_enter) on_enter();
    }
    void left(const Event& event) override {
        ++out;
        last = event;
    }
    int in = 0, out = 0;
    Event last{};
    std::function<void()> on_enter;
};

}  // namespace

TEST_CASE("events: the server gets events of all observers, a client its own (F13 F14 F15)") {
    const LampSchema setup;
    Stage stage(setup.schema, 3, setup.def);
    const EntityId lamp = stage.spawn(setup.street);
    show(stage, 0, lamp);
    show(stage, 2, lamp);
    stage.step();
    std::set<ObserverId> received;
    for (const ServerEvent& event : stage.server->events()) {
        CHECK(event.entity == lamp);
        CHECK(event.kind == setup.street);
        CHECK(event.is_enter());
        CHECK(event.reason == Reason::forced);
        received.insert(event.observer);
    }
    CHECK(received == std::set<ObserverId>{stage.observers[0], stage.observers[2]});
    stage.step(2);
    CHECK(stage.server->events().empty());
    CHECK(lifetimes_of(stage.client(0)).size() == 1);
    CHECK(lifetimes_of(stage.client(1)).empty());
    CHECK(lifetimes_of(stage.client(2)).size() == 1);
    show(stage, 2, lamp, false);
    stage.step();
    REQUIRE(stage.server->events().size() == 1);
    CHECK(stage.server->events()[0].observer == stage.observers[2]);
    CHECK(stage.server->events()[0].is_leave());
    stage.step(2);
    CHECK(lifetimes_of(stage.client(0)).size() == 1);
}

TEST_CASE("events: with the Fusion preset, ghosts that areas leave behind are retained") {
    Schema schema;
    const auto position = add_position(schema, 0, 1000);
    const KindId thing = schema.kind("thing", {position.id});
    ServerDef def;
    def.rules = preset(Preset::fusion);
    Stage stage(schema, 1, def);
    (void)stage.spawn(thing, {100, 100, 0});
    std::string fusion;
    for (const float x : {100.0F, 500.0F, 100.0F}) {
        const Area around = Area::sphere({x, 100, 0}, 10);
        CHECK(stage.visibility().set_area(stage.observers[0], 1, around) == Status::ok);
        stage.step(6);
        for (const ClientEvent& event : stage.client().events()) {
            if (event.is_enter(EventMode::fusion)) fusion += "in ";
            if (event.is_leave(EventMode::fusion)) fusion += "out ";
        }
        CHECK(stage.changes() == (fusion.empty() ? "entered" : x == 500 ? "retained" : "resumed"));
    }
    CHECK(fusion == "out in ");
}

TEST_CASE("events: in Fusion mode, creating or dropping a ghost is no enter or leave (F16)") {
    const LampSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId lamp = stage.spawn(setup.street);
    std::string paired, fusion, server_fusion;
    const auto note = [&] {
        for (const ServerEvent& event : stage.server->events()) {
            if (event.is_enter(EventMode::fusion)) server_fusion += "in ";
            if (event.is_leave(EventMode::fusion)) server_fusion += "out ";
        }
        for (const ClientEvent& event : stage.client().events()) {
            if (event.is_enter()) paired += "in ";
            if (event.is_leave()) paired += "out ";
            if (event.is_enter(EventMode::fusion)) fusion += "in ";
            if (event.is_leave(EventMode::fusion)) fusion += "out ";
        }
        stage.client().clear_events();
    };
    const auto step = [&](std::uint32_t ticks) {
        for (std::uint32_t i = 0; i < ticks; ++i) {
            stage.step();
            note();
        }
    };
    step(100);  // the lamp exists for a while
    for (const bool value : {true, false, true, false}) {
        show(stage, 0, lamp, value);
        step(6);
    }
    step(60);  // the retained ghost is dropped
    show(stage, 0, lamp);
    step(4);
    CHECK(stage.world().despawn(lamp) == Status::ok);
    step(4);
    CHECK(paired == "in out in out in out ");
    CHECK(fusion == "out in out ");
    CHECK(server_fusion == fusion);
}

TEST_CASE("events: client and server report the same enter reasons, even after losses (F16)") {
    const HarbourSchema setup;
    for (const bool loses : {false, true}) {
        Stage stage(setup.schema, 1, setup.def);
        const ObserverId me = stage.observers[0];
        REQUIRE(stage.visibility().set_area(me, 0, Area::at(setup.near)) == Status::ok);
        stage.loss = loses ? 0.4F : 0;
        // Makes an edit. Returns the enters that follow, as sorted texts of change and reason.
        const auto after = [&](auto&& edit) {
            std::vector<std::string> reported, received;
            const auto note = [](auto& list, const auto& event) {
                if (!event.is_enter()) return;
                list.push_back(event.change == Change::entered ? "new " : "resumed ");
                list.back() += to_string(event.reason);
            };
            edit();
            for (int tick = 0; tick < 60; ++tick) {
                stage.loses_all_to = loses && tick < 3 ? 0 : 99;  // all packets are lost at first
                stage.step();
                for (const ServerEvent& event : stage.server->events()) note(reported, event);
                for (const ClientEvent& event : stage.client().events()) note(received, event);
                if (tick < 3 && loses) CHECK(received.empty());
                stage.client().clear_events();
            }
            std::sort(reported.begin(), reported.end());
            std::sort(received.begin(), received.end());
            CHECK(received == reported);
            std::string text;
            for (const std::string& one : received) text += (text.empty() ? "" : ", ") + one;
            return text;
        };
        const auto move = [&](EntityId entity, Vec3 to) {
            return after([&] { CHECK(stage.world().move(entity, to) == Status::ok); });
        };
        const auto allow = [&](EntityId entity, bool value) {
            return after([&] { show(stage, 0, entity, value); });
        };
        const auto give = [&](EntityId entity, ObserverId owner) {
            return after([&] { CHECK(stage.world().set_owner(entity, owner) == Status::ok); });
        };
        EntityId boat{}, other{}, sailor{};
        CHECK(after([&] { stage.spawn(setup.boat, setup.near); }) == "new spawned");
        CHECK(after([&] { boat = stage.spawn(setup.boat, setup.far); }) == "");
        CHECK(move(boat, setup.near) == "new entered");
        CHECK(move(boat, setup.far) == "");
        CHECK(allow(boat, true) == "resumed forced");
        CHECK(allow(boat, false) == "");
        CHECK(give(boat, me) == "resumed owned");
        CHECK(give(boat, ObserverId::none) == "");
        CHECK(move(boat, setup.near) == "resumed entered");
        // The same reasons for first enters.
        CHECK(after([&] { other = stage.spawn(setup.boat, setup.far); }) == "");
        CHECK(allow(other, true) == "new forced");
        CHECK(after([&] { other = stage.spawn(setup.boat, setup.far); }) == "");
        CHECK(after([&] { CHECK(stage.visibility().show_to_all(other, true) == Status::ok); }) ==
              "new forced");
        CHECK(after([&] {
                  other = stage.spawn(setup.boat, setup.near);
                  CHECK(stage.world().set_owner(other, me) == Status::ok);
              }) == "new owned");
        // A boat that is relevant because of its sailor.
        CHECK(after([&] {
                  sailor = stage.spawn(setup.sailor, setup.far);
                  CHECK(stage.world().attach(sailor, stage.spawn(setup.boat, setup.far)) ==
                        Status::ok);
              }) == "");
        CHECK(move(sailor, setup.near) == "new entered, new promoted");
        CHECK(move(sailor, setup.far) == "");
        CHECK(move(sailor, setup.near) == "new entered, resumed promoted");
    }
}

TEST_CASE("events: listeners register for a component or for one entity (F17)") {
    const LampSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId street = stage.spawn(setup.street), radio = stage.spawn(setup.radio);
    Listeners<ServerEvent> listeners(setup.schema);
    ReceivedPosition<ServerEvent> lamps, sounds, one, late;
    listeners.add(setup.lamp.id, lamps);
    listeners.add(setup.sound.id, sounds);
    listeners.add_for(radio, one);
    // A listener that is added during the dispatch receives the next events. A despawn is safe as
    // well.
    lamps.on_enter = [&] {
        if (lamps.in != 1) return;
        listeners.add(setup.lamp.id, late);
        (void)stage.world().despawn(street);
        (void)stage.server->close(stage.observers[0], CloseReason::kicked);
    };
    show(stage, 0, street);
    show(stage, 0, radio);
    stage.step();
    listeners.notify(stage.server->events());
    CHECK(lamps.in == 2);
    CHECK(sounds.in == 1);
    CHECK(one.in == 1);
    CHECK(late.in == 1);
    CHECK(sounds.last.entity == radio);
    listeners.remove(one);
    stage.step();
    listeners.notify(stage.server->events());
    CHECK(one.out == 0);
    // The same for a client, with its ghost ids.
    Listeners<ClientEvent> of_client(setup.schema);
    ReceivedPosition<ClientEvent> seen;
    of_client.add(setup.sound.id, seen);
    of_client.notify(stage.client().events());
    CHECK(seen.in == 1);
}

TEST_CASE("events: an event of an unknown kind reaches only the listeners of its ghost") {
    const LampSchema setup;
    Listeners<ClientEvent> listeners(setup.schema);
    ReceivedPosition<ClientEvent> lamps, one;
    listeners.add(setup.lamp.id, lamps);
    listeners.add_for(GhostId{7}, one);
    for (const std::uint16_t kind : {std::uint16_t{2}, std::uint16_t{65'535}}) {
        const ClientEvent event{GhostId{7}, id_at<KindId>(kind), Reason::entered, Change::entered};
        listeners.notify({&event, 1});
    }
    CHECK(lamps.in == 0);
    CHECK(one.in == 2);
}

TEST_CASE("events: the first view is complete once everything relevant arrived (M21 M22)") {
    LampSchema setup;
    setup.def.budget_bytes_per_tick = 140;
    setup.def.rules.kinds.clear();
    setup.def.rules.kinds.resize(2);
    Stage stage(setup.schema, 1, setup.def);
    for (std::uint16_t i = 0; i < 400; ++i) stage.spawn(setup.radio);
    const EntityId inactive = stage.spawn(setup.radio);
    CHECK(stage.visibility().set_hidden(inactive, true) == Status::ok);
    stage.step(100);
    CHECK(stage.client().is_view_complete());
    // Another client joins a world that has run for a while.
    ClientDef def;
    def.nonce = 77;
    Client late(def);
    Address address;
    address.port = 9;
    int complete_after = -1, full_after = -1;
    bool was_early = false;
    std::uint32_t most_before = 0;
    for (int tick = 0; tick < 200; ++tick) {
        stage.now += 50'000;
        late.tick(stage.now);
        std::span<const std::byte> up;
        while (late.next_datagram(up)) stage.server->receive(up, address, stage.now);
        stage.server->tick(stage.now);
        OutgoingDatagram down;
        std::size_t bytes = 0;
        while (stage.server->next_datagram(down)) {
            if (!(down.to == address)) continue;
            late.receive(down.bytes, stage.now);
            if (down.bytes[0] == std::byte{6}) bytes += down.bytes.size();
        }
        CHECK(bytes <= 140);  // spread over ticks
        if (tick < 150) most_before = std::max(most_before, late.ghost_count());
        if (tick == 150) CHECK(stage.visibility().set_hidden(inactive, false) == Status::ok);
        was_early |= late.is_view_complete() && late.ghost_count() < 400;
        if (late.ghost_count() == 400 && full_after < 0) full_after = tick;
        if (late.is_view_complete() && complete_after < 0) complete_after = tick;
    }
    CHECK_FALSE(was_early);
    CHECK(full_after > 5);
    CHECK(complete_after >= full_after);
    CHECK(complete_after <= full_after + 4);
    std::uint32_t made = 0;
    for (const ClientEvent& event : late.events()) made += event.change == Change::entered ? 1 : 0;
    CHECK(made == 401);         // everything is new to it
    CHECK(most_before == 400);  // except for the hidden entity
}

TEST_CASE("events: an observer that is not ready has no complete view (M21 M7)") {
    LampSchema setup;
    setup.def.rules.ready_requires_viewpoint = true;
    setup.def.rules.kinds.clear();
    setup.def.rules.kinds.resize(2);
    Stage stage(setup.schema, 1, setup.def);
    for (std::uint16_t i = 0; i < 50; ++i) stage.spawn(setup.radio);
    const EntityId me = stage.spawn(setup.radio);
    stage.step(20);
    CHECK(stage.client().ghost_count() == 0);
    CHECK_FALSE(stage.client().is_view_complete());
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    int ticks = 0;
    for (; ticks < 20 && !stage.client().is_view_complete(); ++ticks) stage.step();
    CHECK(ticks < 20);
    CHECK(stage.client().ghost_count() == 51);
}

TEST_CASE("events: a view completes although the observer was not ready in between") {
    for (const Retention leave : {Retention::despawn, Retention::deactivate}) {
        LampSchema setup;
        setup.schema.edit_kind(setup.radio).leave = leave;
        setup.def.budget_bytes_per_tick = 140;
        setup.def.enter_priority = 16;  // resumed ghosts are sent after all new ones
        setup.def.rules.kinds.clear();
        setup.def.rules.kinds.resize(2);
        Stage stage(setup.schema, 0, setup.def);
        for (std::uint16_t i = 0; i < 400; ++i) stage.spawn(setup.radio);
        ClientDef def;
        def.nonce = 100;
        stage.clients.push_back(std::make_unique<Client>(def));
        for (int t = 0; t < 40 && stage.observers.empty(); ++t) stage.step();
        REQUIRE(stage.observers.size() == 1);
        stage.step(4);
        CHECK(stage.client().ghost_count() > 0);
        CHECK(stage.client().ghost_count() < 400);
        CHECK(stage.visibility().set_ready(stage.observers[0], false) == Status::ok);
        stage.step(10);
        CHECK(stage.client().ghost_count() == 0);
        CHECK_FALSE(stage.client().is_view_complete());
        CHECK(stage.visibility().set_ready(stage.observers[0], true) == Status::ok);
        for (int t = 0; t < 100 && !stage.client().is_view_complete(); ++t) stage.step();
        CHECK(stage.client().is_view_complete());
        CHECK(stage.client().ghost_count() == 400);
    }
}

TEST_CASE("events: a disconnect removes the relevant set of that observer only (M23)") {
    const LampSchema setup;
    Stage stage(setup.schema, 3, setup.def);
    std::vector<EntityId> lamps;
    for (std::uint32_t i = 0; i < 12; ++i) {
        lamps.push_back(stage.spawn(setup.street));
        for (std::uint32_t index = 0; index < 3; ++index) {
            if (i % (index + 1) == 0) show(stage, index, lamps[i]);
        }
    }
    stage.step(4);
    const auto consistent = [&] {
        for (std::uint32_t index = 0; index < 3; ++index) {
            std::vector<EntityId> observing;
            stage.visibility().relevant(stage.observers[index], observing);
            for (const EntityId lamp : lamps) {
                std::vector<ObserverId> observers;
                stage.visibility().observers_of(lamp, observers);
                const bool one = std::count(observing.begin(), observing.end(), lamp) == 1;
                const bool other =
                    std::count(observers.begin(), observers.end(), stage.observers[index]) == 1;
                CHECK(one == other);
            }
        }
    };
    consistent();
    CHECK(stage.server->close(stage.observers[0], CloseReason::kicked) == Status::ok);
    stage.step(2);
    std::vector<ObserverId> observers;
    stage.visibility().observers_of(lamps[1], observers);
    CHECK(observers.empty());
    consistent();
    CHECK(stage.client(1).ghost_count() == 6);
    CHECK(stage.client(2).ghost_count() == 4);
}

TEST_CASE("events: a host player is shown what a remote player would get (M25)") {
    const LampSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    struct Presented final : HostPresentation {
        void show(EntityId entity, Reason) override { text += "show" + name(entity); }
        void hide(EntityId entity, Reason reason) override {
            text += (reason == Reason::despawned ? "gone" : "hide") + name(entity);
        }
        void changed(EntityId entity, ComponentId component) override {
            text += "change" + name(entity) + std::to_string(index_of(component)) + " ";
        }
        std::string name(EntityId entity) { return names[entity] + " "; }
        std::string take() { return std::exchange(text, ""); }
        std::map<EntityId, std::string> names;
        std::string text;
    } presented;
    auto made = HostView::create(*stage.server, presented);
    REQUIRE(made);
    HostView view = std::move(*made);
    const EntityId radio = stage.spawn(setup.radio);
    presented.names[radio] = "R";
    const auto step = [&] {
        stage.step();
        view.update();
    };
    step();
    CHECK(presented.take() == "");
    CHECK_FALSE(view.is_shown(radio));
    // The entity exists all along, but its changes are not presented.
    for (std::uint16_t i = 1; i < 5; ++i) {
        stage.world().edit(radio, setup.lamp)->light = i;
        step();
    }
    stage.world().edit(radio, setup.sound)->volume = 3;
    step();
    CHECK(presented.take() == "");
    CHECK(stage.visibility().allow(view.observer(), radio, true) == Status::ok);
    stage.world().edit(radio, setup.lamp)->light = 9;
    step();
    CHECK(view.is_shown(radio));
    CHECK(presented.take() == "showR changeR 0 changeR 1 ");
    stage.world().edit(radio, setup.sound)->volume = 4;
    step();
    CHECK(presented.take() == "changeR 1 ");
    stage.world().edit(radio, setup.sound)->volume = 4;  // the same quantized value
    step();
    CHECK(presented.take() == "");
    CHECK(stage.visibility().allow(view.observer(), radio, false) == Status::ok);
    step();
    CHECK(presented.take() == "hideR ");
    CHECK(stage.visibility().allow(view.observer(), radio, true) == Status::ok);
    step();
    CHECK(presented.take() == "showR ");  // nothing changed meanwhile
    CHECK(stage.world().despawn(radio) == Status::ok);
    step();
    CHECK(presented.take() == "goneR ");
    // Remote clients never receive it.
    CHECK(stage.client().ghost_count() == 0);
}

TEST_CASE("events: no message of a client changes an entity") {
    const LampSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId lamp = stage.spawn(setup.street);
    show(stage, 0, lamp);
    CHECK(stage.world().set_owner(lamp, stage.observers[0]) == Status::ok);
    stage.step(3);
    const std::uint64_t digest = stage.client().digest();
    SplitMix random(3);
    for (int i = 0; i < 100; ++i) {
        std::vector<std::byte> bytes(1 + random.below(60));
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
        (void)stage.client().send_command(bytes);
        stage.step();
    }
    CHECK(stage.client().digest() == digest);
    CHECK(stage.world().get(lamp, setup.lamp)->light == 0);
    CHECK(stage.world().entity_count() == 1);
}

}  // namespace purview::test

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "record/state_hash.hpp"

#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Note {
    char text[12] = {};
    Rotation turn;
    EntityId about = EntityId::none;
};

/// Replicates a component to all observers, or to none.
class SameForAll final : public ComponentAudience {
  public:
    void decide(ObserverId, std::span<const EntityId>,
                std::span<std::uint8_t> result) const override {
        for (auto& one : result) one = is_replicated ? 1 : 0;
    }
    bool is_replicated = true;
};

struct NoteSchema {
    explicit NoteSchema(Retention leave = Retention::despawn) {
        note = schema.component<Note>("note")
                   .text("text", &Note::text)
                   .rotation("turn", &Note::turn)
                   .reference("about", &Note::about);
        schema.audience(note.id, {AudienceType::custom, KeyId::none, &audience, false});
        paper = schema.kind("paper", {note.id});
        schema.edit_kind(paper).leave = leave;
        REQUIRE(schema.problem().empty());
        def.rules.kinds.resize(1);
        def.rules.kinds[0].mode = EntityMode::explicit_only;
    }
    Schema schema;
    SameForAll audience;
    Component<Note> note;
    KindId paper{};
    ServerDef def;
};

/// Returns the state hash of a stage after everything has settled.
template <class Edit>
std::uint64_t hash_after(NoteSchema& setup, Edit&& edit) {
    Stage stage(setup.schema, 1, setup.def);
    const EntityId paper = stage.spawn(setup.paper);
    CHECK(stage.visibility().allow(stage.observers[0], paper, true) == Status::ok);
    stage.step(10);
    edit(stage, paper);
    stage.step(10);
    return record::state_hash(*stage.server);
}

}  // namespace

TEST_CASE("record: the state hash covers all bytes of texts, rotations and references") {
    NoteSchema setup;
    setup.audience.is_replicated = false;  // keeps the ghost tables equal
    const auto with = [&](auto&& edit) {
        return hash_after(setup, [&](Stage& stage, EntityId paper) {
            edit(*stage.world().edit(paper, setup.note));
        });
    };
    const std::uint64_t same = with([](Note&) {});
    CHECK(same == with([](Note&) {}));
    CHECK(same != with([](Note& note) { note.text[0] = 'a'; }));
    CHECK(same != with([](Note& note) { note.text[11] = 'a'; }));
    CHECK(same != with([](Note& note) { note.turn.x = 1; }));
    CHECK(same != with([](Note& note) { note.turn.z = 1; }));
    CHECK(same != with([](Note& note) { note.about = make_entity_id(5, 1); }));
    CHECK(same != with([](Note& note) { note.about = make_entity_id(0, 7); }));
}

TEST_CASE("record: the state hash covers replicated components and ghost retention") {
    const auto nothing = [](Stage&, EntityId) {};
    NoteSchema replicated, withheld;
    withheld.audience.is_replicated = false;
    CHECK(hash_after(replicated, nothing) == hash_after(replicated, nothing));
    CHECK(hash_after(replicated, nothing) != hash_after(withheld, nothing));
    const auto goes = [](Stage& stage, EntityId paper) {
        CHECK(stage.visibility().allow(stage.observers[0], paper, false) == Status::ok);
    };
    NoteSchema frozen(Retention::freeze), stale(Retention::stale), dropped;
    CHECK(hash_after(frozen, goes) == hash_after(frozen, goes));
    CHECK(hash_after(frozen, goes) != hash_after(stale, goes));
    CHECK(hash_after(frozen, goes) != hash_after(dropped, goes));
}

}  // namespace purview::test

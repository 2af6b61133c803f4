// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Staged replication: components that are sent one after the other as the budget allows.
#include "core/internal_access.hpp"
#include "idle_game.hpp"
#include "protocol/schema_access.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// A page of a book. A book is larger than a datagram: a body component and staged pages.
struct Leaf {
    char lines[6][32] = {};
};
struct BookSchema {
    explicit BookSchema(AudienceType type) {
        team = schema.component<Body>("team").integer("team", &Body::team, 0, 8);
        std::vector<ComponentId> parts{team.id};
        for (std::uint32_t p = 0; p < pages_count; ++p) {
            const Component<Leaf> page = schema.component<Leaf>("page" + std::to_string(p));
            add_lines(schema, page.id, 6, 32);
            schema.audience(page.id, {type, KeyId::none, nullptr, false});
            pages.push_back({page.id});
            parts.push_back(page.id);
        }
        book = schema.kind("book", parts);
        REQUIRE(schema.problem().empty());
    }
    static constexpr std::uint32_t pages_count = 8;  // about 1,500 bytes when full
    Schema schema;
    Component<Body> team;
    std::vector<Component<Leaf>> pages;
    KindId book{};
};

void write(Stage& stage, const BookSchema& setup, EntityId book, std::uint32_t page,
           unsigned seed) {
    Leaf* its = stage.world().edit(book, setup.pages[page]);
    for (unsigned line = 0; line < 6; ++line) {
        for (unsigned i = 0; i < 31; ++i)
            its->lines[line][i] = static_cast<char>('a' + (seed + page + line * 3 + i) % 26);
    }
}

}  // namespace

TEST_CASE("staged replication: an entity larger than a packet is sent in parts") {
    const BookSchema refused(AudienceType::everyone);
    ServerDef def;
    def.schema = &refused.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    IdleGame game;
    CHECK(Server::create(def, game).error() == Status::too_large);

    const BookSchema setup(AudienceType::staged);
    for (const std::uint32_t budget : {300U, 700U, 4'800U}) {
        for (const float loss : {0.0F, 0.2F}) {
            CAPTURE(budget);
            CAPTURE(loss);
            ServerDef small;
            small.budget_bytes_per_tick = budget;
            Stage stage(setup.schema, 1, small);
            const EntityId book = stage.spawn(setup.book);
            for (std::uint32_t p = 0; p < setup.pages_count; ++p) write(stage, setup, book, p, 1);
            stage.loss = loss;
            std::uint64_t before = stage.bytes_to[0];
            const auto step = [&] {
                stage.step();
                CHECK(stage.bytes_to[0] - before <= budget);
                before = stage.bytes_to[0];
            };
            step();
            const GhostId first = stage.ghost(0, book);
            if (loss == 0) {
                REQUIRE(first != GhostId::none);
                std::uint32_t replicated = 0;
                for (const auto& page : setup.pages)
                    replicated += stage.client().is_replicated(first, page.id);
                CHECK(replicated < setup.pages_count);
            }
            for (unsigned tick = 0; tick < 60; ++tick) {  // one page after another changes
                write(stage, setup, book, tick % setup.pages_count, tick);
                stage.world().edit(book, setup.team)->team = static_cast<std::uint8_t>(tick % 8);
                step();
            }
            for (unsigned tick = 0; tick < 100; ++tick) step();
            const GhostId ghost = stage.ghost(0, book);
            REQUIRE(ghost != GhostId::none);
            for (std::uint32_t p = 0; p < setup.pages_count; ++p) {
                CAPTURE(p);
                CHECK(stage.client().is_replicated(ghost, setup.pages[p].id));
                for (std::size_t line = 0; line < 6; ++line) {
                    CHECK(stage.client().text_of(ghost, setup.pages[p].id, line) ==
                          std::string(stage.world().get(book, setup.pages[p])->lines[line], 31));
                }
            }
            CHECK(stage.client().value_of(ghost, setup.team.id, 0) ==
                  stage.world().get(book, setup.team)->team);
            CHECK(stage.server->stats().split_updates > 0);
        }
    }
}

TEST_CASE("staged replication: the next part waits for the delivery status of the last one") {
    const BookSchema setup(AudienceType::staged);
    ServerDef small;
    small.budget_bytes_per_tick = 700;
    Stage stage(setup.schema, 1, small);
    const EntityId book = stage.spawn(setup.book);
    for (std::uint32_t p = 0; p < setup.pages_count; ++p) write(stage, setup, book, p, 1);
    stage.clients_every = 5;
    constexpr std::uint32_t rounds = 12;
    const std::uint64_t before = stage.bytes_to[0];
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::uint32_t i = 0; i < stage.clients_every; ++i) {
            for (std::uint32_t p = 0; p < setup.pages_count; ++p)  // always more than fits
                write(stage, setup, book, p, round * stage.clients_every + i);
            stage.step();
        }
    }
    // Between two acknowledgements the budget would fit five parts; one is sent.
    CHECK(stage.server->stats().split_updates >= rounds - 1);
    CHECK(stage.server->stats().split_updates <= rounds + 1);
    CHECK(stage.bytes_to[0] - before <= (rounds + 1) * (small.budget_bytes_per_tick + 200));
}

TEST_CASE("staged replication: a part waits for at most as many packets as there are parts") {
    const BookSchema setup(AudienceType::staged);
    for (const float loss : {0.0F, 0.3F}) {
        CAPTURE(loss);
        ServerDef small;
        small.budget_bytes_per_tick = 300;  // one page
        Stage stage(setup.schema, 1, small);
        const EntityId book = stage.spawn(setup.book);
        for (std::uint32_t p = 0; p < setup.pages_count; ++p) write(stage, setup, book, p, 1);
        const GhostTable& ghosts =
            internal(*stage.server).sessions.find(stage.observers[0])->ghosts;
        std::array<std::uint32_t, BookSchema::pages_count> others{};  // since the page was sent
        std::uint32_t most = 0, packets = 0;
        stage.loss = loss;
        SplitMix random(3);
        for (std::uint32_t tick = 0; tick < 600; ++tick) {
            // All pages change, or some of them. A page without changes leaves its turn to others.
            for (std::uint32_t p = 0; p < setup.pages_count; ++p)
                if (tick % 100 < 50 || random.below(4) == 0) write(stage, setup, book, p, tick);
            stage.step();
            const LocalId slot = ghosts.slots().find(book);
            if (slot == no_local_id ||
                ghosts.sends().sent_tick(slot) != stage.server->current_tick())
                continue;
            ++packets;
            for (std::uint32_t p = 0; p < setup.pages_count; ++p) {
                others[p] =
                    (ghosts.audience().allowed(slot) >> (p + 1) & 1U) != 0 ? 0 : others[p] + 1;
                most = std::max(most, others[p]);
            }
        }
        CHECK(packets > 100);
        CHECK(most == BookSchema::pages_count);
    }
}

TEST_CASE("staged replication: components that an observer may not see do not affect parts") {
    struct Secret {
        char lines[8][31] = {};
    };
    Schema schema;
    const Component<Secret> secret = schema.component<Secret>("secret");
    add_lines(schema, secret.id, 8);
    schema.audience(secret.id, {AudienceType::owner});
    std::vector<Component<Leaf>> pages;
    std::vector<ComponentId> parts{secret.id};
    for (const char* name : {"page0", "page1", "page2", "page3", "page4", "page5", "page6"}) {
        pages.push_back(schema.component<Leaf>(name));
        add_lines(schema, pages.back().id, 2, 32);
        schema.audience(pages.back().id, {AudienceType::staged});
        parts.push_back(pages.back().id);
    }
    const KindId book = schema.kind("book", parts);
    schema.edit_kind(book).leave = Retention::freeze;
    REQUIRE(schema.problem().empty());
    // The owner loses the book and receives no further edits of `secret`. That happens while the
    // book is visible, or while it is hidden and its ghost is retained.
    for (const bool is_hidden : {false, true}) {
        CAPTURE(is_hidden);
        std::uint64_t hashes[2] = {};
        std::uint64_t splits = 0;
        for (const bool edits_secret : {false, true}) {
            ServerDef def;
            def.budget_bytes_per_tick = 600;
            Stage stage(schema, 1, def);
            const ObserverId reader = stage.observers[0];
            const EntityId its = stage.spawn(book);
            const auto write_all = [&](char letter) {
                for (const auto& page : pages)
                    for (auto& line : stage.world().edit(its, page)->lines)
                        std::fill_n(line, 31, letter);
            };
            const auto write_secret = [&](char letter) {
                for (auto& line : stage.world().edit(its, secret)->lines)
                    std::fill_n(line, 31, letter);
            };
            CHECK(stage.world().set_owner(its, reader) == Status::ok);
            write_secret('a');
            stage.step(30);
            CHECK(stage.client().is_replicated(stage.ghost(0, its), secret.id));
            if (is_hidden) {
                CHECK(stage.visibility().deny(reader, its, true) == Status::ok);
                stage.step(3);
            }
            CHECK(stage.world().set_owner(its, ObserverId::none) == Status::ok);
            if (edits_secret) write_secret('b');
            if (is_hidden) {
                stage.step(3);
                CHECK(stage.visibility().deny(reader, its, false) == Status::ok);
            }
            write_all('c');
            stage.step(30);
            CHECK_FALSE(stage.client().is_replicated(stage.ghost(0, its), secret.id));
            hashes[edits_secret ? 1 : 0] = stage.hash_to[0];
            splits += stage.server->stats().split_updates;
        }
        CHECK(splits > 0);
        CHECK(hashes[0] == hashes[1]);
    }
}

TEST_CASE("staged replication: references to other targets are staged as well") {
    struct Aims {
        EntityId at[16] = {};
    };
    Schema schema;
    const Component<Leaf> page = schema.component<Leaf>("page");
    add_lines(schema, page.id, 6, 32);
    std::vector<Component<Aims>> aims;
    std::vector<ComponentId> parts{page.id};
    for (const char* name : {"left", "right", "up"}) {
        aims.push_back(schema.component<Aims>(name));
        parts.push_back(aims.back().id);
        for (std::uint32_t i = 0; i < 16; ++i) {
            FieldDef at;
            at.name = "at" + std::to_string(i);
            at.type = FieldType::reference;
            at.size_bytes = sizeof(EntityId);
            at.offset_bytes = static_cast<std::uint16_t>(i * sizeof(EntityId));
            SchemaAccess::add_field(schema, aims.back().id, at);
        }
    }
    for (const ComponentId part : parts)
        schema.audience(part, {AudienceType::staged, KeyId::none, nullptr, false});
    const KindId book = schema.kind("book", parts);
    const KindId target = schema.kind("target", {});
    REQUIRE(schema.problem().empty());
    ServerDef def;
    def.rules.kinds.resize(2);
    def.rules.kinds[index_of(target)].mode = EntityMode::explicit_only;
    std::uint32_t held = 0, split = 0;
    for (def.budget_bytes_per_tick = 200; def.budget_bytes_per_tick < 520;
         def.budget_bytes_per_tick += 16) {
        CAPTURE(def.budget_bytes_per_tick);
        ServerDef whole = def;
        whole.schema = &schema;
        whole.mac = &test_mac;
        whole.secret = test_secret;
        IdleGame game;
        if (!Server::create(whole, game)) continue;  // a single part is too large
        Stage stage(schema, 1, def);
        const EntityId its = stage.spawn(book), named = stage.spawn(target);
        for (const auto& aim : aims)
            for (EntityId& at : stage.world().edit(its, aim)->at) at = named;
        stage.step(5);
        // The page changes, and the references now point to an entity that becomes relevant.
        CHECK(stage.visibility().allow(stage.observers[0], named, true) == Status::ok);
        for (auto& line : stage.world().edit(its, page)->lines) std::fill_n(line, 31, 'x');
        stage.step(10);
        const GhostId ghost = stage.ghost(0, its);
        REQUIRE(ghost != GhostId::none);
        CHECK(stage.client().text_of(ghost, page.id, 5) == std::string(31, 'x'));
        for (const auto& aim : aims)
            CHECK(stage.client().reference_of(ghost, aim.id, 15) == stage.ghost(0, named));
        split += stage.server->stats().split_updates > 0 ? 1 : 0;
        ++held;
    }
    CHECK(split > 0);
    CHECK(split < held);
}

}  // namespace purview::test

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "proof.hpp"
#include "core/internal_access.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace purview {

namespace {

constexpr std::size_t mismatches_described_max = 20;
/// The server sends each client a packet after at most 10 ticks without one, and the client
/// acknowledges it.
constexpr Tick silent_ticks_max = 40;
/// Maximum time that data may be pending, in ticks. The first value is for a session over its byte
/// budget, as in the simulator. The second is for a session within its budget: it allows for
/// several round trips.
constexpr Tick wait_ticks_max = 300;
constexpr Tick wait_ticks_max_with_room = 100;

std::string name_of(EntityId entity) {
    return "entity " + std::to_string(index_of(entity)) + "#" +
           std::to_string(generation_of(entity));
}

std::string name_of(ObserverId observer) {
    return "observer " + std::to_string(index_of(observer));
}

/// A field as a number; 0 without the component.
float read_number(const World& world, EntityId entity, const AttributeDef& def) {
    const auto* data = static_cast<const unsigned char*>(world.read(entity, def.component));
    if (data == nullptr) return 0;
    const FieldDef& field = world.schema().components()[index_of(def.component)].fields[def.field];
    const unsigned char* at = data + field.offset_bytes;
    if (field.type == FieldType::boolean) return *at != 0 ? 1.0F : 0.0F;
    if (field.type != FieldType::integer) {
        float number = 0;
        std::memcpy(&number, at, sizeof number);
        return number;
    }
    std::int64_t number = 0;
    for (unsigned i = 0; i < field.size_bytes; ++i) number |= std::int64_t{at[i]} << (8 * i);
    const std::int64_t half = std::int64_t{1} << (8 * field.size_bytes - 1);
    if (field.is_signed && number >= half) number -= 2 * half;
    return static_cast<float>(number);
}

Key key_of(const World& world, EntityId entity, KeyId domain) {
    const AttributeDef& def = world.schema().keys()[index_of(domain)];
    return Key{static_cast<std::uint16_t>(read_number(world, entity, def))};
}

}  // namespace

Proof::Proof(Server& server, DescribeObserver describe, std::uint32_t truth_every_ticks,
             DescribeEntity describe_entity)
    : server_(&server),
      describe_(std::move(describe)),
      describe_entity_(std::move(describe_entity)),
      truth_every_(truth_every_ticks),
      truth_(server.rules(), truth_every_ticks,
             {internal(server).def.rules.kinds, false, internal(server).def.rules.level}),
      rules_revision_(server.rules_revision()) {
    internal(*server_).tap = this;
}

Proof::~Proof() {
    internal(*server_).tap = nullptr;
}

ProofCounters Proof::counters() const {
    ProofCounters all = counters_;
    const TruthCheck::Counters truth = truth_.reported().counters;
    all.truth_checked = truth.checked;
    all.truth_mismatches += truth.mismatches;
    all.truth_pairs = truth.pairs;
    all.truth_waits = truth.waits;
    return all;
}

std::vector<std::string> Proof::mismatches() const {
    std::vector<std::string> all = mismatches_;
    for (std::string& text : truth_.reported().mismatches) all.push_back(std::move(text));
    return all;
}

void Proof::describe_mismatch(std::string text) {
    if (mismatches_.size() < mismatches_described_max) mismatches_.push_back(std::move(text));
}

void Proof::truth_mismatch(std::string text) {
    ++counters_.truth_mismatches;
    describe_mismatch("truth: " + std::move(text));
}

void Proof::wire_mismatch(std::string text) {
    ++counters_.digest_mismatches;
    describe_mismatch("wire: " + std::move(text));
}

check::DigestChecker& Proof::checker_of(const Session& session) {
    const auto found = checkers_.find(session.connection_id);
    if (found != checkers_.end()) return found->second;
    return checkers_.emplace(session.connection_id, server_->world().schema()).first->second;
}

check::Words Proof::values_of(EntityId entity) {
    if (index_of(entity) >= values_.size()) values_.resize(server_->world().index_end());
    ValuesThen& now = values_[index_of(entity)];
    if (!now.values || now.tick != server_->current_tick() || now.entity != entity) {
        std::vector<std::uint32_t> words;
        check::wire_values(server_->world(), entity, words);
        now = {server_->current_tick(), entity, check::Words(std::move(words))};
    }
    return now.values;
}

check::Words Proof::values_for(const Session& session, EntityId entity) {
    check::Words shared = values_of(entity);
    const auto named = check::named_entities(server_->world(), entity);
    if (named.empty()) return shared;
    std::vector<std::uint32_t> own = *shared;
    for (const check::NamedEntity& one : named) {
        const bool lives = server_->world().is_alive(one.entity);
        const LocalId slot = lives ? session.ghosts.slots().find(one.entity) : no_local_id;
        own[one.word] = slot == no_local_id ? 0 : slot + 1;
    }
    return check::Words(std::move(own));
}

namespace {

/// Uses the server's own mask of allowed components.
bool is_replicated_now(const Session& session, const World& world, EntityId entity,
                       std::uint32_t component) {
    const LocalId slot = session.ghosts.slots().find(entity);
    if (slot == no_local_id) return true;
    std::uint32_t part = 0;
    const Schema& schema = world.schema();
    for (const ComponentId its : schema.kinds()[index_of(world.kind_of(entity))].components) {
        if (index_of(its) == component) break;
        part += schema.components()[index_of(its)].fields.empty() ? 0 : 1;
    }
    return (session.ghosts.audience().allowed(slot) >> part & 1U) != 0;
}

/// With staged replication, an entity that is larger than a packet is sent in parts. Once nothing
/// is pending, all components must have been sent.
bool has_its_turn(const Session& session, const World& world, EntityId entity,
                  std::uint32_t component) {
    const LocalId slot = session.ghosts.slots().find(entity);
    if (slot == no_local_id) return true;
    return !session.ghosts.sends().is_pending(slot) ||
           is_replicated_now(session, world, entity, component);
}

}  // namespace

std::vector<check::Course> Proof::courses_of(const Session& session, LocalId slot) const {
    std::vector<check::Course> courses;
    if (!session.ghosts.motions().is_extrapolated(slot)) return courses;
    const auto shown = session.ghosts.motions().shown(slot);
    std::size_t word = 0;
    for (const KindField& field :
         internal(*server_).fields.layout(session.ghosts.slots().kind(slot)).fields) {
        if (field.def->extrapolated) {
            const Motion& motion = shown[courses.size()];
            courses.push_back({word, motion.at, motion.speed, field.largest});
        }
        word += field.def->words;
    }
    return courses;
}

/// Uses the game's description of the observer and of its main entity.
bool Proof::has_key(ObserverId observer, KeyId domain, Key key) {
    const World& world = server_->world();
    if (keys_.tick != server_->current_tick() || keys_.observer != observer) {
        const check::TruthObserver truth = describe_(observer);
        keys_ = {server_->current_tick(), observer, truth.own_keys, truth.more_keys};
        if (world.is_alive(truth.main)) {
            check::TruthEntity main;
            main.id = truth.main;
            if (describe_entity_) describe_entity_(main);
            for (std::size_t d = 0; d < world.schema().keys().size(); ++d)
                keys_.keys[d] = key_of(world, main.id, id_at<KeyId>(d));
            keys_.more.insert(keys_.more.end(), main.more_keys.begin(), main.more_keys.end());
        }
    }
    return key != Key::none && (keys_.keys[index_of(domain)] == key ||
                                std::find(keys_.more.begin(), keys_.more.end(),
                                          check::TruthKey{domain, key}) != keys_.more.end());
}

std::uint32_t Proof::replicated_components(const Session& session, EntityId entity) {
    const World& world = server_->world();
    const auto& components = world.schema().components();
    const bool owns = world.owner_of(entity) == session.observer;
    std::uint32_t allowed = 0;
    for (const ComponentId component :
         world.schema().kinds()[index_of(world.kind_of(entity))].components) {
        const std::uint32_t c = index_of(component);
        const AudienceDef& audience = components[c].audience;
        bool is_replicated = true;
        std::uint8_t answer = 0;
        switch (audience.type) {
            case AudienceType::everyone:
                break;
            case AudienceType::staged:
                is_replicated = has_its_turn(session, world, entity, c);
                break;
            case AudienceType::unpredicted:
                is_replicated = !owns || is_replicated_now(session, world, entity, c);
                break;
            case AudienceType::owner:
                is_replicated = owns;
                break;
            case AudienceType::others:
                is_replicated = !owns;
                break;
            case AudienceType::same_key:
                is_replicated = owns || has_key(session.observer, audience.domain,
                                                key_of(world, entity, audience.domain));
                break;
            case AudienceType::custom:
                audience.custom->decide(session.observer, std::span(&entity, 1),
                                        std::span(&answer, 1));
                is_replicated = answer != 0;
                break;
        }
        if (is_replicated) allowed |= 1U << c;
    }
    return allowed;
}

// -- wire ---------------------------------------------------------------------------------------

void Proof::packet_sent(const Session& session, const PacketRecord& record) {
    const Stopwatch watch(*this);
    check::Manifest manifest;
    manifest.sequence = record.sequence;
    manifest.tick = record.tick;
    manifest.items.reserve(record.items);
    const World& world = server_->world();
    session.ghosts.packets().for_each_sent(record, [&](SentItem sent) {
        check::ManifestItem item;
        item.slot = sent.slot;
        item.entity = session.ghosts.slots().entity(sent.slot);
        item.kind = session.ghosts.slots().kind(sent.slot);
        if (sent.as == SentAs::leave || sent.as == SentAs::keep) {
            item.type = sent.as == SentAs::keep ? check::ManifestItem::Type::keep
                                                : check::ManifestItem::Type::leave;
        } else {
            item.type = sent.as == SentAs::enter ? check::ManifestItem::Type::enter
                                                 : check::ManifestItem::Type::update;
            item.values = values_for(session, item.entity);
            item.allowed = replicated_components(session, item.entity);
            item.courses = courses_of(session, sent.slot);
            if (const EntityId parent = world.group_parent_of(item.entity);
                parent != EntityId::none) {
                item.parent_slot = session.ghosts.slots().find(parent);
            }
        }
        manifest.items.push_back(std::move(item));
    });
    if (record.has_sections) add_shared_payloads(session, manifest);
    const std::string wrong = checker_of(session).sent(std::move(manifest));
    if (!wrong.empty()) wire_mismatch(name_of(session.observer) + ": " + wrong);
}

/// Adds the shared cell payloads of the packet: they contain the changes since the previous tick.
void Proof::add_shared_payloads(const Session& session, check::Manifest& manifest) {
    session.shared.for_each_replicated(
        internal(*server_).sections.cells(), [&](LocalId slot, EntityId entity) {
            check::ManifestItem item;
            item.type = check::ManifestItem::Type::shared;
            item.slot = slot;
            item.entity = entity;
            item.kind = server_->world().kind_of(entity);
            item.values = values_of(entity);
            item.before = values_before(entity);
            ++counters_.shared_items;
            if (!item.before) {
                wire_mismatch(name_of(session.observer) + ": a shared cell payload contains " +
                              name_of(entity) + ", which is new");
                return;
            }
            manifest.items.push_back(std::move(item));
        });
}

check::Words Proof::values_before(EntityId entity) const {
    const std::uint32_t index = index_of(entity);
    const bool is_known = index < values_before_.size() && values_before_[index].entity == entity;
    return is_known ? values_before_[index].values : check::Words();
}

/// Stores the values that the shared cell payloads of the next tick refer to. This is done even
/// without shared payloads, because a rule change can start them. If the server misses a change,
/// these values and those of its clients differ.
void Proof::tick_done() {
    const Stopwatch watch(*this);
    const bool is_first = values_before_.empty();
    values_before_.resize(server_->world().index_end());
    const auto keep = [&](EntityId entity) {
        values_before_[index_of(entity)] = {server_->current_tick(), entity, values_of(entity)};
    };
    if (is_first) return server_->world().for_each(keep);
    internal(*server_).fields.changed().for_each([&](std::size_t index) {
        const EntityId entity =
            internal(internal(*server_).world).entities.at_index(static_cast<std::uint32_t>(index));
        if (entity != EntityId::none) keep(entity);
    });
}

std::uint64_t Proof::digests_checked_of(std::uint64_t nonce) const {
    const auto found = digests_.find(nonce);
    return found == digests_.end() ? 0 : found->second;
}

void Proof::packet_resolved(const Session& session, DeliveryNotice notice) {
    const Stopwatch watch(*this);
    checker_of(session).resolved(notice.sequence, notice.delivered);
    if (!notice.delivered) return;
    AckTicks& acks = ack_ticks_[session.connection_id];
    const Tick now = server_->current_tick();
    if (now - acks.last > silent_ticks_max) acks.since = now;
    acks.last = now;
}

void Proof::digest_received(const Session& session, std::uint32_t sequence, std::uint64_t digest) {
    if (session.observer == ObserverId::none) return;
    check::DigestChecker& checker = checker_of(session);
    const auto right = checker.is_right(sequence, digest);
    if (!right) return;
    ++counters_.digests_checked;
    ++digests_[session.nonce];
    if (*right) return;
    ++counters_.digest_mismatches;
    if (!state_requested_[session.connection_id]) {
        state_requested_[session.connection_id] = true;
        describe_mismatch("wire: " + name_of(session.observer) + ": digest differs after packet " +
                          std::to_string(sequence) + ", tick " +
                          std::to_string(server_->current_tick()) + "; requesting its state");
        checker.keep_states();
        if (on_state_request_) on_state_request_(session.observer);
        (void)internal(*server_).request_state(session.observer);
    }
}

void Proof::state_received(const Session& session, std::span<const std::byte> state) {
    describe_mismatch("wire: " + name_of(session.observer) + ": " +
                      checker_of(session).explain(state));
}

void Proof::session_closed(const Session& session) {
    checkers_.erase(session.connection_id);
    ack_ticks_.erase(session.connection_id);
}

// -- truth --------------------------------------------------------------------------------------

/// The world's state, by entity index.
std::vector<check::TruthEntity> Proof::truth_of_entities() {
    const World& world = server_->world();
    const Schema& schema = world.schema();
    const std::vector<KindRules>& kinds = internal(*server_).def.rules.kinds;
    std::vector<check::TruthEntity> entities(world.index_end());
    joins_.resize(world.index_end(), 0);
    last_roots_.resize(world.index_end(), EntityId::none);
    const bool has_bounds = server_->rules().group_radius_max > 0;
    const auto read_integer = [&](EntityId entity, const AttributeDef& def) -> std::uint32_t {
        const auto* data = static_cast<const unsigned char*>(world.read(entity, def.component));
        if (data == nullptr) return 0;
        const FieldDef& field = schema.components()[index_of(def.component)].fields[def.field];
        std::uint32_t value = 0;
        for (unsigned i = 0; i < field.size_bytes; ++i) {
            value |= std::uint32_t{data[field.offset_bytes + i]} << (8 * i);
        }
        return value;
    };
    world.for_each([&](EntityId entity) {
        const std::uint32_t index = index_of(entity);
        check::TruthEntity& truth = entities[index];
        truth.id = entity;
        truth.parent = world.group_parent_of(entity);
        // An independently culled member is its own cull group.
        truth.root = entity;
        while (world.group_parent_of(truth.root) != EntityId::none &&
               !kinds[index_of(world.kind_of(truth.root))].culled_independently)
            truth.root = world.group_parent_of(truth.root);
        truth.position = world.position_of(entity);
        truth.has_position = schema.position() != ComponentId::none &&
                             world.read(entity, schema.position()) != nullptr;
        for (std::size_t f = 0; f < schema.flags().size(); ++f) {
            if (read_integer(entity, schema.flags()[f]) != 0)
                truth.flags |= static_cast<std::uint16_t>(1U << f);
        }
        for (std::size_t d = 0; d < schema.keys().size(); ++d) {
            truth.keys[d] = Key{static_cast<std::uint16_t>(read_integer(entity, schema.keys()[d]))};
        }
        for (std::size_t v = 0; v < schema.values().size(); ++v)
            truth.values[v] = read_number(world, entity, schema.values()[v]);
        truth.kind = world.kind_of(entity);
        truth.range = kinds[index_of(truth.kind)].range;
        truth.mode = kinds[index_of(truth.kind)].mode;
        check::bind_new(truth, kinds, {}, false);
        truth.owner = world.owner_of(entity);
        if (truth.root != entity && last_roots_[index] != truth.root) ++joins_[index];
        last_roots_[index] = truth.root;
        truth.joins = joins_[index];
        if (has_bounds)
            truth.group_radius_m = internal(internal(*server_).world).bounds.radius_of(entity);
        if (describe_entity_) describe_entity_(truth);
    });
    return entities;
}

TruthClaim Proof::claim_of(const Session& session) {
    TruthClaim claim;
    claim.observer = session.observer;
    server_->visibility().relevant(session.observer, claim.relevant);
    for (LocalId slot = 0; slot < session.ghosts.slots().end(); ++slot) {
        if (session.ghosts.slots().is_live(slot))
            claim.ghosts.push_back(session.ghosts.slots().entity(slot));
    }
    if (claim.ghosts.size() != session.ghosts.slots().live_count())
        truth_mismatch(name_of(session.observer) + ": live ghosts do not match their count");
    return claim;
}

/// Checks that every relevant ghost that is not pending was sent in its current state.
void Proof::check_ghosts(const Session& session, Tick tick) {
    const check::DigestChecker& checker = checker_of(session);
    const auto pending = session.ghosts.sends().pending();
    for (LocalId slot = 0; slot < session.ghosts.slots().end(); ++slot) {
        const bool waits = ((pending[slot / bits_per_word] >> (slot % bits_per_word)) & 1U) != 0;
        if (!session.ghosts.slots().is_live(slot) || waits) continue;
        ++counters_.ghosts_checked;
        const EntityId entity = session.ghosts.slots().entity(slot);
        const auto* sent = checker.last_sent(slot, entity);
        const check::Words now = values_for(session, entity);
        const std::uint32_t allowed = replicated_components(session, entity);
        std::string field = "everything";
        if (sent != nullptr) {
            std::vector<std::uint32_t> shown = *sent->values;
            for (const check::Course& course : courses_of(session, slot))
                shown[course.word] = course.after(tick - session.ghosts.motions().shown_tick(slot));
            field = sent->allowed == allowed ? checker.difference(session.ghosts.slots().kind(slot),
                                                                  shown, *now, allowed)
                                             : "allowed components";
            if (field.empty()) continue;
        }
        truth_mismatch(name_of(session.observer) + ", tick " + std::to_string(tick) + ": " +
                       name_of(entity) + " changed in " + field +
                       ", is not pending and was not sent");
    }
}

/// Checks that pending updates, enters and leaves do not wait too long while the client
/// acknowledges. A leave waits until it is acknowledged.
void Proof::check_waits(const Session& session, Tick tick) {
    const AckTicks acks = ack_ticks_[session.connection_id];
    if (tick - acks.last > silent_ticks_max) return;
    const GhostTable& ghosts = session.ghosts;
    const World& world = server_->world();
    const bool has_room = !session.last_plan.was_over_budget && !session.last_plan.left_some;
    const Tick ticks_max = has_room ? wait_ticks_max_with_room : wait_ticks_max;
    for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
        const bool is_leaving = ghosts.is_leaving(slot);
        if (!is_leaving && !ghosts.sends().is_pending(slot)) continue;
        const EntityId entity = ghosts.slots().entity(slot);
        Tick most = ticks_max;
        if (!is_leaving) {
            const EntityId parent = world.group_parent_of(entity);
            if (parent != EntityId::none && !is_present(ghosts, ghosts.slots().find(parent)))
                continue;  // the parent must enter first
            const KindDef& kind = world.schema().kinds()[index_of(ghosts.slots().kind(slot))];
            most += ghosts.rates().policy(slot).every_ticks;
            most += kind.limit_per_tick == 0
                        ? 0
                        : ghosts.slots().live_count();  // at least one is sent per tick
        }
        const Tick sent = ghosts.sends().sent_tick(slot);
        const Tick waits_since = is_leaving ? std::max(ghosts.slots().left_tick(slot), sent)
                                            : ghosts.sends().pending_since(slot);
        const Tick since = std::max(acks.since, waits_since);
        if (since + most >= tick) continue;
        truth_mismatch(name_of(session.observer) + ", tick " + std::to_string(tick) + ": " +
                       name_of(entity) + " has waited for " + std::to_string(tick - since) +
                       " ticks, and " +
                       (is_leaving ? "its leave is not acknowledged" : "is not sent"));
    }
}

void Proof::check_tick() {
    TruthRecord record;
    record.tick = server_->current_tick();
    record.level = internal(*server_).def.rules.level;
    if (rules_revision_ != server_->rules_revision()) {
        rules_revision_ = server_->rules_revision();
        record.rules = server_->rules();
    }
    // Once set, it stays set with later rules, because observers may still retain entities of
    // earlier rules.
    if (unchecked_.empty())
        unchecked_ = check::what_is_not_followed(server_->rules(), server_->world().entity_count());
    const std::uint32_t claims_every =
        server_->rules().minimum_relevance_ticks > 0 ? 1 : truth_every_;
    record.entities = truth_of_entities();
    for (const auto& session : internal(*server_).sessions) {
        if (session->state != Session::State::joined) continue;
        record.observers.push_back(describe_(session->observer));
        const Tick turn = record.tick + index_of(session->observer);
        if (unchecked_.empty() && turn % claims_every == 0)
            record.claims.push_back(claim_of(*session));
        if (turn % truth_every_ != 0) continue;
        check_ghosts(*session, record.tick);
        check_waits(*session, record.tick);
    }
    truth_.tick(std::move(record));
}

}  // namespace purview

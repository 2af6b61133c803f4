// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/host_view.hpp"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/bitset.hpp"
#include "core/flat_map.hpp"
#include "core/internal_access.hpp"
#include "server/server_data.hpp"

namespace purview {

class HostViewData {
  public:
    HostViewData(Server& made_for, HostPresentation& made_with, ObserverId its)
        : server(&made_for), presentation(&made_with), player{its, {}, {}} {
        internal(*server).locals.add(player);
    }
    HostViewData(const HostViewData&) = delete;
    HostViewData& operator=(const HostViewData&) = delete;
    ~HostViewData() { internal(*server).remove_local(player); }

    void update();
    bool is_shown(EntityId entity) const noexcept {
        const Known* known = find(entity);
        return known != nullptr && known->shown;
    }

    Server* server;
    HostPresentation* presentation;
    LocalPlayer player;

  private:
    struct Known {
        EntityId entity = EntityId::none;
        bool shown = false;
        /// Parts that are replicated to the player, one bit each. While the entity is hidden, the
        /// value from when it was last shown.
        std::uint32_t allowed = 0;
        /// Parts to report: changed while hidden, or replicated now for the first time.
        std::uint32_t waiting = 0;
    };
    /// Null if nothing is stored for this entity; ignores an earlier entity with the same index.
    const Known* find(EntityId entity) const noexcept {
        const Known* known = known_.find(index_of(entity));
        return known != nullptr && known->entity == entity ? known : nullptr;
    }
    /// `entity` must be alive. hide() has already hidden an earlier entity with the same index.
    Known& known_of(EntityId entity) {
        Known& known = known_[index_of(entity)];
        if (known.entity != entity) {
            PURVIEW_ASSERT(!known.shown);
            known = {entity};
        }
        return known;
    }
    /// Sets allowed[i] to a bit mask of parts: those of the entity at indices[i] that the player
    /// receives while the entity is relevant.
    void decide_parts(std::span<const std::uint32_t> indices,
                      std::span<std::uint32_t> allowed) const {
        ServerData& data = internal(*server);
        data.audiences.decide(data.workers.front().audience, player.observer, indices, allowed);
    }
    void report(EntityId entity, std::uint32_t parts);
    void report_waiting(EntityId entity, std::uint32_t parts);
    void note_events(Tick since);
    void note_changes(Tick since);
    void note_references();
    void note_audiences();
    void hide();
    void show();
    void deliver_calls();
    /// Returns false if the world has ticked more than once since then. Interest events exist only
    /// for the last tick.
    bool is_last_tick(Tick since) const noexcept { return since + 1 == server->current_tick(); }

    Tick updated_ = 0;                     ///< tick of the last update
    FlatMap<std::uint32_t, Known> known_;  ///< by entity index
    struct Change {
        EntityId entity;
        std::uint32_t parts;
    };
    std::vector<WantedCall> calls_;  ///< calls to the player that are being delivered
    /// Shown entities that have parts with a restricted audience.
    std::vector<EntityId> restricted_;
    std::vector<InterestEvent> events_;  ///< since the last update, in the order of delivery
    std::vector<Change> changes_;
    std::vector<std::uint32_t> indices_;  ///< scratch: [restricted_]
    std::vector<std::uint32_t> allowed_;  ///< scratch: [restricted_]
};

void HostViewData::report(EntityId entity, std::uint32_t parts) {
    if (parts == 0 || !server->world().is_alive(entity)) return;
    const KindId kind = server->world().kind_of(entity);
    for (const KindLayout::Part& part : internal(*server).fields.layout(kind).parts) {
        if ((parts & 1U) != 0) presentation->changed(entity, part.component);
        parts >>= 1;
    }
}

/// Reports these parts and the waiting parts, if they are replicated to the player.
void HostViewData::report_waiting(EntityId entity, std::uint32_t parts) {
    Known& known = known_of(entity);
    parts |= std::exchange(known.waiting, 0);
    report(entity, parts & known.allowed);
}

/// Copies the events of the last tick, because the presentation may edit the world. If ticks were
/// skipped, adds the difference between what is shown and what is relevant. Sorts as for a remote
/// client: leaves first, then parents before children.
void HostViewData::note_events(Tick since) {
    const WorldData& world = internal(server->world());
    const auto events = internal(*server).interest.events_of(player.observer);
    events_.assign(events.begin(), events.end());
    if (!is_last_tick(since)) {
        const std::size_t end = known_.size() > 0 ? internal(*server).fields.changed().size() : 0;
        for (std::uint32_t i = 0; i < end; ++i) {
            const Known* known = known_.find(i);
            if (known == nullptr || !known->shown || player.relevant.contains(known->entity))
                continue;
            const bool is_alive = world.entities.is_alive(known->entity);
            events_.push_back({known->entity, player.observer,
                               is_alive ? Reason::left : Reason::despawned, false});
        }
        for (const auto& [entity, kind] : player.relevant) {
            if (!is_shown(entity))
                events_.push_back({entity, player.observer, Reason::entered, true});
        }
    }
    const auto rank = [&](const InterestEvent& event) {
        return event.enter ? world.groups.depth_at(index_of(event.entity)) + 1 : 0;
    };
    std::stable_sort(events_.begin(), events_.end(),
                     [&](const InterestEvent& left, const InterestEvent& right) {
                         return rank(left) < rank(right);
                     });
}

/// Lists the parts that have changed since that tick.
void HostViewData::note_changes(Tick since) {
    changes_.clear();
    const FieldStore& fields = internal(*server).fields;
    const WorldData& world = internal(server->world());
    const auto note = [&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        const EntityId entity = world.entities.at_index(index);
        if (entity == EntityId::none) return;
        const KindId kind = world.entities.kind_at(index);
        const KindLayout& layout = fields.layout(kind);
        FieldMask mask = fields.changed_since(index, kind, since);
        if (!is_last_tick(since)) {  // former targets of references are stored for one tick only
            for_each_bit(layout.references, 0, [&](std::size_t f) {
                const bool is_later = fields.changed_tick(index, layout.fields[f]) > since;
                mask |= FieldMask{is_later} << f;
            });
        }
        std::uint32_t parts = 0, bit = 1;
        for (const KindLayout::Part& part : layout.parts) {
            if ((mask & part.fields) != 0) parts |= bit;
            bit <<= 1;
        }
        if (parts != 0) changes_.push_back({entity, parts});
    };
    if (is_last_tick(since)) {
        fields.changed().for_each(note);
    } else {
        for (std::uint32_t i = 0; known_.size() > 0 && i < fields.changed().size(); ++i) {
            // Entities without an entry report all parts when they are shown.
            if (known_.contains(i)) note(i);
        }
    }
    note_references();
    std::sort(changes_.begin(), changes_.end(), [](const Change& left, const Change& right) {
        return index_of(left.entity) < index_of(right.entity);
    });
    for (std::size_t i = 1; i < changes_.size(); ++i) {
        if (changes_[i].entity != changes_[i - 1].entity) continue;
        changes_[i].parts |= changes_[i - 1].parts;
        changes_[i - 1].parts = 0;
    }
    std::erase_if(changes_, [](const Change& change) { return change.parts == 0; });
}

/// Adds the references that a remote client would be sent: changed references with a relevant old
/// or new target, and references to entities that entered or left.
void HostViewData::note_references() {
    ServerData& host = internal(*server);
    FieldStore& fields = host.fields;
    const WorldData& world = internal(host.world);
    const auto name_of = [&](EntityId entity) {
        const bool is_known =
            entity != EntityId::none && host.interest.answers.is_relevant(player.observer, entity);
        return is_known ? entity : EntityId::none;
    };
    // For former targets: also returns entities that left since the last update.
    const auto name_before = [&](EntityId entity) {
        const auto is_its_leave = [&](const InterestEvent& event) {
            return event.entity == entity && !event.enter;
        };
        return std::any_of(events_.begin(), events_.end(), is_its_leave) ? entity : name_of(entity);
    };
    const auto note = [&](EntityId referrer, auto&& is_allowed_by) {
        if (!host.world.is_alive(referrer)) return;
        std::uint32_t parts = 0, bit = 1;
        for (const auto& part : fields.layout(host.world.kind_of(referrer)).parts) {
            if (is_allowed_by(part)) parts |= bit;
            bit <<= 1;
        }
        if (parts != 0) changes_.push_back({referrer, parts});
    };
    for (const FieldStore::ReferenceChange& change : fields.reference_changes()) {
        if (name_before(change.before) == name_of(change.now)) continue;
        note(change.referrer, [&](const auto& part) { return part.component == change.component; });
    }
    for (const InterestEvent& event : events_) {
        for (const EntityId referrer : fields.referrers_of(world, event.entity)) {
            note(referrer, [&](const auto& part) {
                return fields.has_reference_to(world, referrer, event.entity, part.fields);
            });
        }
    }
}

/// Updates the replicated parts of the shown entities. A part that was not replicated before is
/// reported even if it has not changed, as for a remote client.
void HostViewData::note_audiences() {
    std::erase_if(restricted_, [&](EntityId entity) {
        return !server->world().is_alive(entity) || !is_shown(entity);
    });
    indices_.clear();
    for (const EntityId entity : restricted_) indices_.push_back(index_of(entity));
    allowed_.resize(indices_.size());
    decide_parts(indices_, allowed_);
    for (std::size_t i = 0; i < restricted_.size(); ++i) {
        Known& known = known_of(restricted_[i]);
        PURVIEW_ASSERT(known.shown);
        known.waiting |= allowed_[i] & ~known.allowed;
        known.allowed = allowed_[i];
    }
}

void HostViewData::hide() {
    for (const InterestEvent& event : events_) {
        // An entity that entered and left in skipped ticks was never shown. Its index may belong to
        // a shown entity now.
        if (event.enter || find(event.entity) == nullptr) continue;
        const bool was_shown = std::exchange(known_of(event.entity).shown, false);
        if (!server->world().is_alive(event.entity)) known_.erase(index_of(event.entity));
        if (was_shown) presentation->hide(event.entity, event.reason);
    }
}

void HostViewData::show() {
    const WorldData& world = internal(server->world());
    for (const InterestEvent& event : events_) {
        // The presentation may have despawned the entity in an earlier call.
        if (!event.enter || !server->world().is_alive(event.entity)) continue;
        Known& known = known_of(event.entity);
        if (std::exchange(known.shown, true)) continue;
        const std::uint32_t index = index_of(event.entity);
        const std::uint32_t before = known.allowed;
        decide_parts({&index, 1}, {&known.allowed, 1});
        known.waiting |= known.allowed & ~before;
        if (internal(*server).fields.layout(world.entities.kind_at(index)).audience != 0)
            restricted_.push_back(event.entity);
        presentation->show(event.entity, event.reason);
        report_waiting(event.entity, 0);
    }
}

/// Delivers calls as a remote client receives them: arguments are rounded as on the wire, and the
/// target is EntityId::none if it has left.
void HostViewData::deliver_calls() {
    calls_.clear();
    std::swap(calls_, player.calls);
    alignas(std::max_align_t) std::array<std::byte, Schema::component_bytes_max> args;
    for (const WantedCall& call : calls_) {
        const RpcDef& rpc = internal(*server).def.schema->rpcs()[index_of(call.rpc)];
        struct_of_words(rpc, call.words, args.data());
        const bool is_there = is_shown(call.target) && server->world().is_alive(call.target);
        presentation->called(call.rpc, is_there ? call.target : EntityId::none,
                             std::span<const std::byte>(args).first(rpc.args.size_bytes));
    }
}

void HostViewData::update() {
    const Tick since = std::exchange(updated_, server->current_tick());
    if (since == updated_) return;
    note_events(since);
    note_changes(since);
    hide();
    // Changes of entities that are still hidden are added to their waiting parts.
    std::erase_if(changes_, [&](const Change& change) {
        Known& known = known_of(change.entity);
        if (!known.shown) known.waiting |= change.parts;
        return !known.shown;
    });
    show();
    note_audiences();
    for (const Change& change : changes_) {
        if (!server->world().is_alive(change.entity)) continue;
        Known& known = known_of(change.entity);
        if (known.shown) {
            report_waiting(change.entity, change.parts);
        } else {
            known.waiting |= change.parts;
        }
    }
    for (const EntityId entity : restricted_) report_waiting(entity, 0);
    deliver_calls();
}

HostView::HostView(std::unique_ptr<HostViewData> data) noexcept : data_(std::move(data)) {}
HostView::HostView(HostView&&) noexcept = default;
HostView& HostView::operator=(HostView&&) noexcept = default;
HostView::~HostView() = default;

Result<HostView> HostView::create(Server& server, HostPresentation& presentation) {
    auto observer = internal(server).interest.observers.add_observer();
    if (!observer) return observer.error();
    if (const Status status = server.visibility().set_ready(*observer, true); status != Status::ok)
        return status;
    return HostView(std::make_unique<HostViewData>(server, presentation, *observer));
}

ObserverId HostView::observer() const noexcept {
    return data_->player.observer;
}
bool HostView::is_shown(EntityId entity) const noexcept {
    return data_->is_shown(entity);
}
void HostView::update() {
    data_->update();
}

}  // namespace purview

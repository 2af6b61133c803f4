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
        std::uint32_t told = 0;     ///< parts, a bit each; of what is hidden: when it was shown
        std::uint32_t waiting = 0;  ///< parts that changed while it was hidden, or are told now
    };
    /// Null: nothing is known of this entity, whatever had its index before.
    const Known* find(EntityId entity) const noexcept {
        const Known* known = known_.find(index_of(entity));
        return known != nullptr && known->entity == entity ? known : nullptr;
    }
    /// Of an entity that is alive. What had its index before is hidden by now (see hide).
    Known& known_of(EntityId entity) {
        Known& known = known_[index_of(entity)];
        if (known.entity != entity) {
            PURVIEW_ASSERT(!known.shown);
            known = {entity};
        }
        return known;
    }
    /// told[i]: the parts of the entity of indices[i] that are replicated, if it is relevant, a bit
    /// each.
    void decide_parts(std::span<const std::uint32_t> indices, std::span<std::uint32_t> told) const {
        ServerData& data = internal(*server);
        data.audiences.decide(data.workers.front().audience, player.observer, indices, told);
    }
    void tell(EntityId entity, std::uint32_t parts);
    void tell_waiting(EntityId entity, std::uint32_t parts);
    void note_events(Tick since);
    void note_changes(Tick since);
    void note_references();
    void note_audiences();
    void hide();
    void show();
    void hand_out_calls();
    /// False: the world has ticked more than once since then, and events are of the last tick only.
    bool is_last_tick(Tick since) const noexcept { return since + 1 == server->current_tick(); }

    Tick updated_ = 0;                     ///< that of the last update
    FlatMap<std::uint32_t, Known> known_;  ///< by entity index
    struct Change {
        EntityId entity;
        std::uint32_t parts;
    };
    std::vector<WantedCall> calls_;      ///< those of the player, as they are handed out
    std::vector<EntityId> restricted_;   ///< shown, with parts that only some are told
    std::vector<InterestEvent> events_;  ///< since the last update, as they are told
    std::vector<Change> changes_;
    std::vector<std::uint32_t> indices_;  ///< scratch: [restricted_]
    std::vector<std::uint32_t> told_;     ///< scratch: [restricted_]
};

void HostViewData::tell(EntityId entity, std::uint32_t parts) {
    if (parts == 0 || !server->world().is_alive(entity)) return;
    const KindId kind = server->world().kind_of(entity);
    for (const KindLayout::Part& part : internal(*server).fields.layout(kind).parts) {
        if ((parts & 1U) != 0) presentation->changed(entity, part.component);
        parts >>= 1;
    }
}

/// Of these and of what waits, what he is told.
void HostViewData::tell_waiting(EntityId entity, std::uint32_t parts) {
    Known& known = known_of(entity);
    parts |= std::exchange(known.waiting, 0);
    tell(entity, parts & known.told);
}

/// Those of the last tick, copied: the presentation may edit the world. Where earlier ones were
/// left out also what they have left: what is shown and not relevant any more, or the reverse. As a
/// remote client: leaves first, then parents before children.
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
            const bool is_alive = world.is_alive(known->entity);
            events_.push_back({known->entity, player.observer,
                               is_alive ? Reason::left : Reason::despawned, false});
        }
        for (const auto& [entity, kind] : player.relevant) {
            if (!is_shown(entity))
                events_.push_back({entity, player.observer, Reason::entered, true});
        }
    }
    const auto rank = [&](const InterestEvent& event) {
        return event.enter ? world.depth_at(index_of(event.entity)) + 1 : 0;
    };
    std::stable_sort(events_.begin(), events_.end(),
                     [&](const InterestEvent& left, const InterestEvent& right) {
                         return rank(left) < rank(right);
                     });
}

/// What has changed since then, by part.
void HostViewData::note_changes(Tick since) {
    changes_.clear();
    const FieldStore& fields = internal(*server).fields;
    const WorldData& world = internal(server->world());
    const auto note = [&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        const EntityId entity = world.at_index(index);
        if (entity == EntityId::none) return;
        const KindId kind = world.kind_at(index);
        const KindLayout& layout = fields.layout(kind);
        FieldMask mask = fields.changed_since(index, kind, since);
        if (!is_last_tick(since)) {  // whom they named before nobody knows any more
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
            if (known_.contains(i)) note(i);  // others are told all when they are shown
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

/// As a remote client is told: who names somebody else than before, if that is anything to him, and
/// who names somebody that he has come to know, or does not know any more.
void HostViewData::note_references() {
    ServerData& host = internal(*server);
    FieldStore& fields = host.fields;
    const WorldData& world = internal(host.world);
    const auto name_of = [&](EntityId entity) {
        const bool is_known =
            entity != EntityId::none && host.interest.is_relevant(player.observer, entity);
        return is_known ? entity : EntityId::none;
    };
    // Or has left since.
    const auto name_before = [&](EntityId entity) {
        const auto is_its_leave = [&](const InterestEvent& event) {
            return event.entity == entity && !event.enter;
        };
        return std::any_of(events_.begin(), events_.end(), is_its_leave) ? entity : name_of(entity);
    };
    const auto note = [&](EntityId referrer, auto&& is_told_by) {
        if (!host.world.is_alive(referrer)) return;
        std::uint32_t parts = 0, bit = 1;
        for (const auto& part : fields.layout(host.world.kind_of(referrer)).parts) {
            if (is_told_by(part)) parts |= bit;
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
                return fields.does_name(world, referrer, event.entity, part.fields);
            });
        }
    }
}

/// What he is told of those that are shown. A part that he was not told before comes whole, as to a
/// remote client, whether it has changed or not.
void HostViewData::note_audiences() {
    std::erase_if(restricted_, [&](EntityId entity) {
        return !server->world().is_alive(entity) || !is_shown(entity);
    });
    indices_.clear();
    for (const EntityId entity : restricted_) indices_.push_back(index_of(entity));
    told_.resize(indices_.size());
    decide_parts(indices_, told_);
    for (std::size_t i = 0; i < restricted_.size(); ++i) {
        Known& known = known_of(restricted_[i]);
        PURVIEW_ASSERT(known.shown);
        known.waiting |= told_[i] & ~known.told;
        known.told = told_[i];
    }
}

void HostViewData::hide() {
    for (const InterestEvent& event : events_) {
        // An entity that came and went in ticks that were left out was never shown; its index may
        // be the one of an entity that is.
        if (event.enter || find(event.entity) == nullptr) continue;
        const bool was_shown = std::exchange(known_of(event.entity).shown, false);
        if (!server->world().is_alive(event.entity)) known_.erase(index_of(event.entity));
        if (was_shown) presentation->hide(event.entity, event.reason);
    }
}

void HostViewData::show() {
    const WorldData& world = internal(server->world());
    for (const InterestEvent& event : events_) {
        // The presentation may just have ended it.
        if (!event.enter || !server->world().is_alive(event.entity)) continue;
        Known& known = known_of(event.entity);
        if (std::exchange(known.shown, true)) continue;
        const std::uint32_t index = index_of(event.entity);
        const std::uint32_t before = known.told;
        decide_parts({&index, 1}, {&known.told, 1});
        known.waiting |= known.told & ~before;
        if (internal(*server).fields.layout(world.kind_at(index)).audience != 0)
            restricted_.push_back(event.entity);
        presentation->show(event.entity, event.reason);
        tell_waiting(event.entity, 0);
    }
}

/// As a client's: with what the wire can say, and without a name of what has gone since.
void HostViewData::hand_out_calls() {
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
    // What was hidden until now gets its changes with the rest of those that waited.
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
            tell_waiting(change.entity, change.parts);
        } else {
            known.waiting |= change.parts;
        }
    }
    for (const EntityId entity : restricted_) tell_waiting(entity, 0);
    hand_out_calls();
}

HostView::HostView(std::unique_ptr<HostViewData> data) noexcept : data_(std::move(data)) {}
HostView::HostView(HostView&&) noexcept = default;
HostView& HostView::operator=(HostView&&) noexcept = default;
HostView::~HostView() = default;

Result<HostView> HostView::create(Server& server, HostPresentation& presentation) {
    auto observer = internal(server).interest.add_observer();
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

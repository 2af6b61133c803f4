// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/host_view.hpp"

#include <utility>
#include <vector>

#include "core/flat_map.hpp"
#include "host/server_data.hpp"

namespace purview {

class HostViewData {
  public:
    HostViewData(Server& made_for, HostPresentation& made_with, ObserverId its)
        : server(&made_for), presentation(&made_with), observer(its) {}

    void update();
    bool is_shown(EntityId entity) const noexcept {
        const Known* known = known_.find(index_of(entity));
        return known != nullptr && known->entity == entity && known->shown;
    }

    Server* server;
    HostPresentation* presentation;
    ObserverId observer;

  private:
    struct Known {
        EntityId entity = EntityId::none;
        bool shown = false;
        bool listed = false;        ///< in withheld_
        std::uint32_t waiting = 0;  ///< parts that changed while it was hidden, or not told
    };
    Known& known_of(EntityId entity) {
        Known& known = known_[index_of(entity)];
        if (known.entity != entity) known = {entity, false, false, 0};
        return known;
    }
    void tell(EntityId entity, std::uint32_t parts);
    void tell_what_may(EntityId entity, std::uint32_t parts);
    void note_changes();

    FlatMap<std::uint32_t, Known> known_;  ///< by entity index
    struct Change {
        EntityId entity;
        std::uint32_t parts;
    };
    std::vector<EntityId> withheld_;      ///< shown, with parts that wait
    std::vector<RelevanceEvent> events_;  ///< copies: the presentation may edit the world
    std::vector<Change> changes_;
};

void HostViewData::tell(EntityId entity, std::uint32_t parts) {
    if (!server->world().is_alive(entity)) return;
    const KindId kind = server->world().kind_of(entity);
    for (const KindLayout::Part& part : server->data().fields().layout(kind).parts) {
        if ((parts & 1U) != 0) presentation->changed(entity, part.component);
        parts >>= 1;
    }
}

/// What he may know now, as a remote client would; the rest waits until he may.
void HostViewData::tell_what_may(EntityId entity, std::uint32_t parts) {
    if (parts == 0 || !server->world().is_alive(entity)) return;
    const std::uint32_t told = server->data().told_parts(observer, index_of(entity));
    Known& known = known_of(entity);
    known.waiting = parts & ~told;
    if (known.waiting != 0 && !std::exchange(known.listed, true)) withheld_.push_back(entity);
    tell(entity, parts & told);
}

/// What this tick changed, by part.
void HostViewData::note_changes() {
    changes_.clear();
    const FieldStore& fields = server->data().fields();
    const WorldData& world = server->world().data();
    fields.changed().for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        const EntityId entity = world.at_index(index);
        if (entity == EntityId::none) return;
        const KindId kind = world.kind_at(index);
        const FieldMask mask = fields.changed_since(index, kind, server->current_tick() - 1);
        std::uint32_t parts = 0, bit = 1;
        for (const KindLayout::Part& part : fields.layout(kind).parts) {
            if ((mask & part.fields) != 0) parts |= bit;
            bit <<= 1;
        }
        if (parts != 0) changes_.push_back({entity, parts});
    });
}

void HostViewData::update() {
    const auto events = server->data().interest.events_of(observer);
    events_.assign(events.begin(), events.end());
    note_changes();
    // What was hidden until now gets its changes with the rest of those that waited.
    std::erase_if(changes_, [&](const Change& change) {
        Known& known = known_of(change.entity);
        if (!known.shown) known.waiting |= change.parts;
        return !known.shown;
    });
    // As a remote client: leaves first, then parents before children.
    const WorldData& world = server->world().data();
    const auto rank = [&](const RelevanceEvent& event) {
        return event.enter ? world.depth_at(index_of(event.entity)) + 1 : 0;
    };
    std::stable_sort(events_.begin(), events_.end(),
                     [&](const RelevanceEvent& left, const RelevanceEvent& right) {
                         return rank(left) < rank(right);
                     });
    for (const RelevanceEvent& event : events_) {
        Known& known = known_of(event.entity);
        known.shown = event.enter;
        const std::uint32_t waiting = event.enter ? std::exchange(known.waiting, 0) : 0;
        if (event.enter) {
            presentation->show(event.entity, event.reason);
            tell_what_may(event.entity, waiting);
        } else {
            presentation->hide(event.entity, event.reason);
            if (!server->world().is_alive(event.entity)) known_.erase(index_of(event.entity));
        }
    }
    for (const Change& change : changes_) {
        if (!server->world().is_alive(change.entity)) continue;
        Known& known = known_of(change.entity);
        if (known.shown) {
            tell_what_may(change.entity, known.waiting | change.parts);
        } else {
            known.waiting |= change.parts;
        }
    }
    std::erase_if(withheld_, [&](EntityId entity) {
        const Known* known = known_.find(index_of(entity));
        if (known == nullptr || known->entity != entity) return true;
        if (known->shown) tell_what_may(entity, known->waiting);
        Known& its = known_of(entity);
        its.listed = its.shown && its.waiting != 0;
        return !its.listed;
    });
}

HostView::HostView(std::unique_ptr<HostViewData> data) noexcept : data_(std::move(data)) {}
HostView::HostView(HostView&&) noexcept = default;
HostView& HostView::operator=(HostView&&) noexcept = default;
HostView::~HostView() {
    if (data_ != nullptr) (void)data_->server->interest().remove_observer(data_->observer);
}

Result<HostView> HostView::create(Server& server, HostPresentation& presentation) {
    auto observer = server.interest().add_observer();
    if (!observer) return observer.error();
    if (const Status status = server.interest().set_ready(*observer, true); status != Status::ok)
        return status;
    return HostView(std::make_unique<HostViewData>(server, presentation, *observer));
}

ObserverId HostView::observer() const noexcept {
    return data_->observer;
}
bool HostView::is_shown(EntityId entity) const noexcept {
    return data_->is_shown(entity);
}
void HostView::update() {
    data_->update();
}

}  // namespace purview

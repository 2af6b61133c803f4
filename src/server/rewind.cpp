// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/rewind.hpp"

#include <algorithm>
#include <cmath>

#include "core/internal_access.hpp"
#include "core/mutate.hpp"
#include "server/server_rewind.hpp"

namespace purview {

namespace {

/// The configured ticks, or one second by default, plus two for interpolation at the oldest view.
std::uint32_t ticks_of(const ServerDef& def) noexcept {
    return (def.rewind.ticks == 0 ? def.tick_hz : def.rewind.ticks) + 2;
}

struct Nearest {
    float distance_m;  ///< from the point to the segment
    float along_m;     ///< from the start of the segment to its nearest point
};

Nearest nearest_of(const History::Volume& volume, Vec3 point) noexcept {
    const Vec3 axis{volume.to.x - volume.from.x, volume.to.y - volume.from.y,
                    volume.to.z - volume.from.z};
    const Vec3 to{point.x - volume.from.x, point.y - volume.from.y, point.z - volume.from.z};
    const float length2 = axis.x * axis.x + axis.y * axis.y + axis.z * axis.z;
    const float dot = axis.x * to.x + axis.y * to.y + axis.z * to.z;
    const float part = length2 > 0 ? std::clamp(dot / length2, 0.0F, 1.0F) : 0.0F;
    const Vec3 off{to.x - axis.x * part, to.y - axis.y * part, to.z - axis.z * part};
    return {std::sqrt(off.x * off.x + off.y * off.y + off.z * off.z), part * std::sqrt(length2)};
}

}  // namespace

RewindData::RewindData(const ServerDef& def, const ServerTime& time, const World& world,
                       const InterestEngine& interest, const SessionTable& sessions)
    : time_(time),
      world_(world),
      interest_(interest),
      sessions_(sessions),
      history_(internal(world), ticks_of(def), def.rewind.cell_size, def.rules.axes),
      ticks_(history_.ticks()) {}

void RewindData::record() {
    if (!history_.is_used()) return;
    (void)history_.record(time_.tick);
    counters.history_bytes = history_.history_bytes();
    counters.index_bytes = history_.index_bytes();
}

void RewindData::note_events(const Session& session) {
    PURVIEW_ASSERT(session.observer != ObserverId::none);
    if (!history_.is_used() || session.state == Session::State::probe) return;
    const std::size_t index = index_of(session.observer);
    if (index >= logs_.size()) logs_.resize(index + 1);
    Log& log = logs_[index];
    if (log.observer != session.observer) log = {session.observer, {}};
    const Tick now = time_.tick;
    for (const InterestEvent& event : interest_.events_of(session.observer))
        log.log.note(event.entity, now, event.enter);
    if (now > ticks_) log.log.forget(now - ticks_);
}

const RelevanceLog* RewindData::log_of(ObserverId observer) const noexcept {
    const std::size_t index = index_of(observer);
    return index < logs_.size() && logs_[index].observer == observer ? &logs_[index].log : nullptr;
}

Result<PastView> RewindData::view(ObserverId observer, double tick) {
    if (!history_.is_used() || history_.newest() == 0) return Status::not_found;
    if (log_of(observer) == nullptr) return Status::stale_id;
    const double kept = std::isnan(tick) ? 0.0
                                         : std::clamp(tick, static_cast<double>(history_.oldest()),
                                                      static_cast<double>(history_.newest()));
    ++counters.views;
    if (kept != tick) ++counters.cut;
    return PastView(*this, observer, std::max(kept, static_cast<double>(history_.oldest())));
}

bool RewindData::is_own(ObserverId observer, EntityId entity) const noexcept {
    return world_.owner_of(entity) == observer;
}

bool RewindData::sees(ObserverId observer, EntityId entity, double tick) const noexcept {
    if (!world_.is_alive(entity)) return false;
    if (is_own(observer, entity)) return interest_.answers.is_relevant(observer, entity);
    const RelevanceLog* log = log_of(observer);
    const Session* session = sessions_.find(observer);
    if (log == nullptr || session == nullptr) return false;
    // Uses the ghosts, which match the log. Overrides that were set since the last tick must not
    // change the past.
    const LocalId slot = session->ghosts.slots().find(entity);
    const bool is_relevant = slot != no_local_id && session->ghosts.slots().is_live(slot);
    return PURVIEW_GUARD(rewound_relevance,
                         log->was_relevant(entity, static_cast<Tick>(tick), is_relevant));
}

/// Returns `tick`, or the whole tick before it if the entity was hidden in the whole tick after it:
/// the client did not display it between the two.
double RewindData::tick_seen(ObserverId observer, EntityId entity, double tick) const noexcept {
    const double earlier = std::floor(tick);
    return tick > earlier && !sees(observer, entity, earlier + 1) ? earlier : tick;
}

const void* RewindData::read(ObserverId observer, EntityId entity, ComponentId component,
                             double tick) const noexcept {
    if (!sees(observer, entity, tick)) return nullptr;
    if (is_own(observer, entity)) return world_.read(entity, component);
    return history_.at(entity, component, static_cast<Tick>(tick));
}

Vec3 RewindData::position_of(ObserverId observer, EntityId entity, double tick) const noexcept {
    Vec3 position;
    if (!sees(observer, entity, tick)) return position;
    if (is_own(observer, entity)) return world_.position_of(entity);
    (void)history_.position_at(entity, tick_seen(observer, entity, tick), position);
    return position;
}

Status RewindData::find(ObserverId observer, const History::Volume& volume, double tick,
                        std::vector<PastHit>& out) {
    if (!is_finite(volume.from) || !is_finite(volume.to)) return Status::bad_position;
    if (!(volume.radius >= 0) || volume.radius > reach_max) return Status::bad_argument;
    const std::size_t first = out.size();
    history_.for_each_near(volume, tick, [&](EntityId entity) {
        ++counters.candidates;
        const auto is_near_at = [&](double when) {
            Vec3 position;
            return history_.position_at(entity, when, position) &&
                   nearest_of(volume, position).distance_m <= volume.radius;
        };
        if (!is_near_at(tick) && !is_near_at(std::floor(tick))) return;
        if (!PURVIEW_GUARD(rewound_own, !is_own(observer, entity))) return;
        if (!sees(observer, entity, tick)) return;
        Vec3 position;
        if (!history_.position_at(entity, tick_seen(observer, entity, tick), position)) return;
        const Nearest nearest = nearest_of(volume, position);
        if (!(nearest.distance_m <= volume.radius)) return;
        const bool is_sphere = volume.from == volume.to;
        out.push_back({entity, world_.root_of(entity), position,
                       is_sphere ? nearest.distance_m : nearest.along_m});
    });
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, out.end(), [](const PastHit& a, const PastHit& b) {
        return a.distance_m != b.distance_m ? a.distance_m < b.distance_m : a.entity < b.entity;
    });
    out.erase(std::unique(begin, out.end(),
                          [](const PastHit& a, const PastHit& b) { return a.entity == b.entity; }),
              out.end());
    counters.hits += out.size() - first;
    return Status::ok;
}

bool PastView::sees(EntityId entity) const noexcept {
    return data_->sees(observer_, entity, tick_);
}
Vec3 PastView::position_of(EntityId entity) const noexcept {
    return data_->position_of(observer_, entity, tick_);
}
const void* PastView::read(EntityId entity, ComponentId component) const noexcept {
    return data_->read(observer_, entity, component, tick_);
}
Status PastView::write(EntityId, ComponentId) const noexcept {
    return Status::refused;
}
Status PastView::find_along(Vec3 from, Vec3 to, float radius, std::vector<PastHit>& out) const {
    return data_->find(observer_, {from, to, radius}, tick_, out);
}
Status PastView::find_within(Vec3 center, float radius, std::vector<PastHit>& out) const {
    return data_->find(observer_, {center, center, radius}, tick_, out);
}

}  // namespace purview

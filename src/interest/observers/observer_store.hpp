// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Observers: their ids, areas of interest, main entities, keys and windows, and which of them have
// to be scanned. The main entity is the one that an observer views from
// (Visibility::set_viewpoint).
//
// Invariants: the observers of a main entity form one list from first_of_main() on; following()
// counts the areas that follow an entity; unculled() has exactly the observers that see everything;
// an observer that must be scanned is woken. Must not depend on rules, entities or relevance.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/flat_map.hpp"
#include "core/id_pool.hpp"
#include "core/prefetch.hpp"
#include "interest/entities/more_keys.hpp"
#include "interest/windows/window.hpp"
#include "purview/area.hpp"
#include "purview/schema.hpp"
#include "purview/status.hpp"

namespace purview {

/// An area of interest and its key. `ends`: the last tick in which it counts; 0: it has no end.
struct KeyedArea {
    std::uint32_t key = 0;
    Tick ends = 0;
    Area area;
    friend bool operator==(const KeyedArea&, const KeyedArea&) = default;
};

/// A row of a row source that an observer reads.
struct SourceRow {
    std::uint32_t source;
    std::uint32_t row;
    friend bool operator==(const SourceRow&, const SourceRow&) = default;
    friend bool operator<(const SourceRow& a, const SourceRow& b) noexcept {
        return a.source != b.source ? a.source < b.source : a.row < b.row;
    }
};

struct alignas(cache_line_bytes) Observer {
    // Fields that every tick reads first.
    EntityId main = EntityId::none;
    std::uint64_t views_hash = 0;  ///< hash of all positions and areas at the last scan
    bool ready = false;            ///< requested, and it has a main entity if the rules require one
    bool requested_ready = false;
    bool needs_scan = true;  ///< its own state changed: areas, keys, readiness
    bool sees_everything = false;
    float range = 0;
    float lookahead_s = 0;
    Tick ready_since = 0;
    ObserverId id = ObserverId::none;
    std::uint32_t next_of_main = IdPool::no_index;  ///< another observer with the same main entity
    Window window;
    std::vector<KeyedArea> areas;
    std::vector<SourceRow> rows;               ///< ascending
    std::array<Key, Schema::keys_max> keys{};  ///< in force: the main entity's, or its own
    std::array<Key, Schema::keys_max> own_keys{};
    std::vector<DomainKey> more_keys;  ///< in force: the main entity's, and its own
    std::uint32_t keys_revision = 0;   ///< for the keys in force
};

class ObserverStore {
  public:
    explicit ObserverStore(std::uint32_t observers_max)
        : pool_(observers_max, (1U << (32 - observer_index_bits)) - 1, 1U << observer_index_bits) {}

    // -- ids. An index is reused after recycle().
    std::size_t size() const noexcept { return observers_.size(); }
    Observer& operator[](std::size_t index) noexcept { return observers_[index]; }
    const Observer& operator[](std::size_t index) const noexcept { return observers_[index]; }
    Observer* begin() noexcept { return observers_.data(); }
    Observer* end() noexcept { return observers_.data() + observers_.size(); }
    ObserverId id_of(std::uint32_t index) const noexcept { return observers_[index].id; }
    bool is_live(std::uint32_t index) const noexcept { return pool_.is_live(index); }
    bool is_live(ObserverId id) const noexcept {
        return pool_.is_live(index_of(id), generation_of(id));
    }
    /// Returns the index of a new observer, or IdPool::no_index if no index is free.
    std::uint32_t add();
    /// The main entity and the rows must be removed before. The id stays readable until the index
    /// is reused, because events contain it.
    void remove(std::uint32_t index);
    void recycle() { pool_.recycle(); }

    // -- main entities
    bool has_watchers(EntityId main) const noexcept { return mains_.contains(index_of(main)); }
    /// Returns the first observer that views from the entity with this index, or IdPool::no_index.
    std::uint32_t first_of_main(std::uint32_t main_index) const noexcept {
        const std::uint32_t* first = mains_.find(main_index);
        return first == nullptr ? IdPool::no_index : *first;
    }
    void set_main(std::uint32_t index, EntityId main);
    /// Calls visit(observer index) for every observer that views from the entity.
    template <class Visit>
    void for_each_watcher(EntityId main, Visit&& visit) const {
        for (std::uint32_t o = first_of_main(index_of(main)); o != IdPool::no_index;
             o = observers_[o].next_of_main) {
            if (observers_[o].main == main) visit(o);
        }
    }
    void prefetch_main(std::uint32_t main_index) const noexcept { mains_.prefetch(main_index); }
    void prefetch_first_of_main(std::uint32_t main_index) const noexcept {
        if (const std::uint32_t* o = mains_.find(main_index)) prefetch_line(&observers_[*o]);
    }

    // -- areas
    std::uint32_t following() const noexcept { return following_; }
    bool has_area(std::uint32_t index, std::uint32_t key) const noexcept;
    /// Replaces the area with this key, or adds it. An equal area without an end changes nothing.
    void put_area(std::uint32_t index, const KeyedArea& area);
    /// Returns false if no area has this key.
    bool remove_area(std::uint32_t index, std::uint32_t key);
    /// Removes all areas except those with keys in [begin, end).
    void keep_areas(std::uint32_t index, std::uint64_t begin, std::uint64_t end);
    /// Removes areas that ended before `tick`, and those that follow a despawned entity.
    /// O(observers with areas that end); O(observers) if some area follows an entity.
    template <class IsKnown>
    void expire_areas(Tick tick, IsKnown&& is_known) {
        timed_.for_each([&](std::size_t o) {
            if (!expire(static_cast<std::uint32_t>(o), tick, is_known)) timed_.reset(o);
        });
        if (following_ == 0) return;
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (!observers_[o].areas.empty()) (void)expire(o, tick, is_known);
        }
    }

    // -- keys besides those of the main entity
    bool any_more_keys() const noexcept { return more_keys_.any(); }
    std::span<const DomainKey> more_keys(std::uint32_t index) const noexcept {
        return more_keys_.of(index);
    }
    void add_key(std::uint32_t index, KeyId domain, Key key) {
        (void)more_keys_.add(index, domain, key);
    }
    /// Returns false if it does not have the key.
    bool remove_key(std::uint32_t index, KeyId domain, Key key) {
        return more_keys_.remove(index, domain, key) >= 0;
    }

    // -- observers that see everything, in no order
    std::span<const std::uint32_t> unculled() const noexcept { return unculled_; }
    void set_unculled(std::uint32_t index, bool value);

    // -- scans
    /// Requests a scan in the next tick, because the observer's own state changed.
    void must_scan(std::uint32_t index) {
        observers_[index].needs_scan = any_needs_scan_ = true;
        wake(index);
    }
    bool any_needs_scan() const noexcept { return any_needs_scan_; }
    void clear_needs_scan() noexcept { any_needs_scan_ = false; }
    /// Marks the observer: its window may change in this tick.
    void wake(std::uint32_t index) {
        if (woken_.size() <= index) woken_.resize(index + 1);
        woken_.set(index);
    }
    bool is_woken(std::uint32_t index) const noexcept {
        return index < woken_.size() && woken_.test(index);
    }
    void clear_woken() noexcept { woken_.clear_all(); }

    /// Asserts the invariants. O(observers).
    void validate() const;

  private:
    void count_following(const KeyedArea& area, bool is_added) noexcept {
        if (area.area.follow == EntityId::none) return;
        PURVIEW_ASSERT(is_added || following_ > 0);
        following_ += is_added ? 1U : ~std::uint32_t{0};
    }
    /// Returns whether some area of the observer ends later.
    template <class IsKnown>
    bool expire(std::uint32_t index, Tick tick, IsKnown&& is_known) {
        auto& areas = observers_[index].areas;
        bool any_timed = false;
        for (std::size_t i = 0; i < areas.size();) {
            const bool is_over = areas[i].ends != 0 && areas[i].ends < tick;
            const EntityId follow = areas[i].area.follow;
            if (is_over || (follow != EntityId::none && !is_known(follow))) {
                count_following(areas[i], false);
                areas.erase(areas.begin() + static_cast<std::ptrdiff_t>(i));
                must_scan(index);
                continue;
            }
            any_timed |= areas[i++].ends != 0;
        }
        return any_timed;
    }

    IdPool pool_;
    LineVector<Observer> observers_;
    FlatMap<std::uint32_t, std::uint32_t> mains_;  ///< entity index -> first observer of its list
    MoreKeys more_keys_;                           ///< by observer index
    std::vector<std::uint32_t> unculled_;
    Bitset timed_;                 ///< observers with areas that end
    std::uint32_t following_ = 0;  ///< number of areas that follow an entity
    Bitset woken_;
    bool any_needs_scan_ = false;  ///< some observer must be scanned
};

}  // namespace purview

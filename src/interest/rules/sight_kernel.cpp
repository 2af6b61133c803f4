// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Line of sight, with a limited number of tests per observer and tick. Each block has three masks:
// the result, the lanes tested in this round, and those tested in the round before. A round takes
// half of the grace time. A result counts in its round and the next, so it is never older than the
// grace time. Lanes without a result are tested first, then those not tested in this round, so no
// lane starves. The rest of the budget refreshes results in turn.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "interest/rules/kernel.hpp"
#include "purview/extend/kernel.hpp"
#include "purview/status.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview {

namespace {

class SightKernel final : public InterestKernel {
  public:
    explicit SightKernel(const Kernel& desc)
        : sight_(desc.rays), def_(desc), reach_m_(desc.enter), from_(desc.view_from) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const std::size_t n = q.blocks.size();
        if (q.notes.size() < 2 * n) return;  // describe() passes no notes
        const std::span<Mask> fresh = q.notes.first(n), before = q.notes.subspan(n, n);
        for (std::size_t i = 0; i < n; ++i) out[i] = q.was[i];
        if (!q.context.again) {
            begin_round(q, fresh, before);
            test_lanes(q, fresh, before, out);
        }
        // Separate loops, so that each is vectorized.
        const int otherwise = def_.visible_when_unknown ? ~0 : 0;
        for (std::size_t i = 0; i < n; ++i) {
            const int known = fresh[i] | before[i];
            out[i] = static_cast<Mask>((out[i] & known) | (otherwise & ~known));
        }
        for (std::size_t i = 0; reach_m_ > 0 && i < n; ++i) out[i] &= within(q, i);
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        if (q.positions.empty()) return "line of sight unknown: the observer has no position";
        if (q.slots.is_abstract(q.blocks[0]))
            return "line of sight unknown: the entity has no position";
        if (reach_m_ > 0 && (within(q, 0) & lane_bit(lane)) == 0)
            return "line of sight: farther than " + number_text(reach_m_);
        Mask out = 0;
        Batch batch(*this, q, {&out, 1});
        batch.put(0, lane_bit(lane));
        batch.test_batch();
        const bool was_visible = (q.was[0] & lane_bit(lane)) != 0;
        const bool sees = (out & lane_bit(lane)) != 0;
        return std::string("line of sight: ") + (sees ? "nothing" : "something") +
               " blocks it now; the result in use is " + (was_visible ? "seen" : "not seen");
    }
    bool answers_unknown() const noexcept override { return false; }
    bool remembers() const noexcept override { return true; }
    unsigned planes() const noexcept override { return 3; }
    bool needs_every_tick() const noexcept override { return true; }
    float reach() const noexcept override { return reach_m_; }
    bool needs_position() const noexcept override { return true; }
    bool uses_requested() const noexcept override { return true; }
    Viewpoints looks_from() const noexcept override { return from_; }

  private:
    void begin_round(const KernelQuery& q, std::span<Mask> fresh,
                     std::span<Mask> before) const noexcept {
        if (q.context.tick % std::max(def_.ray_valid_ticks / 2, 1U) != 0) return;
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            before[i] = fresh[i];
            fresh[i] = 0;
        }
    }
    void test_lanes(const KernelQuery& q, std::span<Mask> fresh, std::span<const Mask> before,
                    std::span<Mask> out) const noexcept {
        const std::size_t n = fresh.size();
        int unanswered = 0, stale = 0;  // of any block
        for (std::size_t i = 0; i < n; ++i) {
            unanswered |= q.requested[i] & ~(fresh[i] | before[i]);
            stale |= q.requested[i] & ~fresh[i];
        }
        std::size_t requested = 0;
        for (std::size_t i = 0; stale != 0 && i < n; ++i) requested += count_lanes(q.requested[i]);
        const bool is_short =
            requested > def_.ray_entities_per_tick;  // only set if some lane is stale
        std::uint32_t left = def_.ray_entities_per_tick;
        Batch batch(*this, q, out);
        const auto test = [&](std::size_t i, int wanted) {
            if (wanted == 0) return;
            if (i + 1 < n) q.slots.prefetch(q.blocks[i + 1]);
            auto lanes = static_cast<Mask>(wanted);
            const std::uint32_t count = count_lanes(lanes);
            if (count > left) lanes = first_lanes(lanes, left);
            left -= std::min(count, left);
            fresh[i] |= lanes;
            batch.put(i, lanes);
        };
        for (std::size_t i = 0; is_short && unanswered != 0 && left > 0 && i < n; ++i)
            test(i, q.requested[i] & ~(fresh[i] | before[i]));
        for (std::size_t i = 0; is_short && left > 0 && i < n; ++i)
            test(i, q.requested[i] & ~fresh[i]);
        const std::size_t from = n == 0 ? 0 : std::size_t{q.context.tick} * 7 % n;
        for (std::size_t i = from; left > 0 && i < n; ++i) test(i, q.requested[i]);
        for (std::size_t i = 0; left > 0 && i < from; ++i) test(i, q.requested[i]);
        batch.test_batch();
    }
    /// Returns the lanes of a block that are within reach of a position.
    Mask near(const KernelQuery& q, std::size_t i, Vec3 position) const noexcept {
        const Slots& slots = q.slots;
        Mask out = 0;
        add_lanes_within({slots.coordinates(), slots.axes()}, q.blocks.subspan(i, 1), position,
                         reach_m_ * reach_m_, {&out, 1});
        return static_cast<Mask>(out & slots.occupied()[q.blocks[i]]);
    }
    Mask within(const KernelQuery& q, std::size_t i) const noexcept {
        int out = 0;
        for (const Vec3 position : q.positions) out |= near(q, i, position);
        return static_cast<Mask>(out);
    }

    /// Collects rays of one observer and passes them to the caller's RayTest in batches. Adds the
    /// results to `out`.
    class Batch {
      public:
        Batch(const SightKernel& kernel, const KernelQuery& q, std::span<Mask> out) noexcept
            : kernel_(kernel), q_(q), out_(out) {}
        /// Adds rays to the lanes of a block, from each position that is near enough.
        void put(std::size_t position, Mask lanes) noexcept {
            out_[position] = static_cast<Mask>(out_[position] & ~lanes);
            for (std::uint32_t p = 0; p < q_.positions.size(); ++p) {
                const Mask some =
                    kernel_.reach_m_ > 0
                        ? static_cast<Mask>(lanes & kernel_.near(q_, position, q_.positions[p]))
                        : lanes;
                const std::uint32_t count = count_lanes(some);
                if (count == 0) continue;
                if (n_ + count > lines_max) test_batch();
                PURVIEW_ASSERT(runs_ <= n_ && n_ + count <= lines_max);  // a run has a line
                at_[runs_] = static_cast<std::uint32_t>(position);
                blocks_[runs_] = q_.blocks[position];
                lanes_[runs_] = some;
                viewpoints_[runs_] = p;
                ++runs_;
                n_ += count;
            }
        }
        void test_batch() noexcept {
            if (n_ == 0) return;
            [[maybe_unused]] const std::size_t listed =
                list_slots(std::span(blocks_).first(runs_), lanes_, slots_.data());
            PURVIEW_ASSERT(listed == n_);
            const Slots& slots = q_.slots;
            slots.entities(std::span(slots_).first(n_), std::span(entities_).first(n_));
            test_along([](Vec3 from) { return from; },
                       [&](std::size_t k) { return slots.position(slots_[k]); });
            if (kernel_.def_.predicts_sight) {  // the same rays with both ends extrapolated
                const float seconds = q_.context.lookahead_s;
                test_along([&](Vec3 from) { return ahead(from, q_.context.velocity, seconds); },
                           [&](std::size_t k) {
                               return ahead(slots.position(slots_[k]), slots.velocity(entities_[k]),
                                            seconds);
                           });
            }
            n_ = runs_ = 0;
        }

      private:
        static Vec3 ahead(Vec3 at, Vec3 velocity, float seconds) noexcept {
            return {at.x + velocity.x * seconds, at.y + velocity.y * seconds,
                    at.z + velocity.z * seconds};
        }
        template <class From, class To>
        void test_along(From&& from, To&& to) noexcept {
            const Slots& slots = q_.slots;
            for (std::size_t r = 0, k = 0; r < runs_;) {
                const std::uint32_t p = viewpoints_[r];
                const Vec3 begin = slots.outer(from(q_.positions[p]));
                std::size_t end = k;  // end of the rays from one position
                for (; r < runs_ && viewpoints_[r] == p; ++r) end += count_lanes(lanes_[r]);
                for (; k < end; ++k) queries_[k] = {entities_[k], begin, slots.outer(to(k))};
            }
            visible_.fill(0);
            kernel_.sight_->test(q_.observer, std::span(queries_, n_),
                                 std::span(visible_).first(n_));
            pick_yes(std::span(lanes_).first(runs_), visible_.data(), seen_.data());
            for (std::size_t r = 0; r < runs_; ++r) {
                Mask& out = out_[at_[r]];
                out = static_cast<Mask>(out | seen_[r]);
            }
        }

        static constexpr std::size_t lines_max = 64;
        static constexpr std::size_t room = lines_max + lanes_per_block;  // for whole vectors
        const SightKernel& kernel_;
        const KernelQuery& q_;
        std::span<Mask> out_;
        std::size_t n_ = 0, runs_ = 0;  ///< rays; runs of rays, which share block and position
        std::array<std::uint32_t, lines_max> at_;          ///< by run, index of the block
        std::array<BlockIndex, lines_max> blocks_;         ///< by run
        std::array<Mask, lines_max> lanes_;                ///< by run, at least one
        std::array<Mask, lines_max> seen_;                 ///< by run
        std::array<std::uint32_t, lines_max> viewpoints_;  ///< by run
        union {
            Ray queries_[lines_max];  ///< not zeroed for every observer
        };
        std::array<Slot, room> slots_;
        std::array<EntityId, lines_max> entities_;
        std::array<std::uint8_t, room> visible_;
    };

    /// Returns the lowest `count` lanes of a mask.
    static Mask first_lanes(Mask mask, std::uint32_t count) noexcept {
        Mask rest = mask;
        for (; count > 0; --count) rest &= static_cast<Mask>(rest - 1);
        return static_cast<Mask>(mask & ~rest);
    }

    std::shared_ptr<const RayTest> sight_;
    Kernel def_;
    float reach_m_;
    Viewpoints from_;
};

}  // namespace

std::shared_ptr<const InterestKernel> make_sight_kernel(const Kernel& desc) {
    return std::make_shared<SightKernel>(desc);
}

}  // namespace purview

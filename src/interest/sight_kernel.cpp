// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Line of sight, with so many tests for an observer and tick. Three masks for each block: the
// answer, who was tested in this round, who in the round before. A round takes half of the grace
// time; an answer counts in its round and the next, so it is never older than the grace time.
// Whoever has no answer is tested first, then whoever was not tested in this round, so no lane
// starves; what is left of the budget goes round and keeps answers fresh.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "interest/kernel.hpp"
#include "purview/sight.hpp"

namespace purview {

namespace {

class SightKernel final : public InterestKernel {
  public:
    explicit SightKernel(const KernelDesc& desc)
        : sight_(desc.sight), def_(desc.sight_def), reach_m_(desc.enter_m), from_(desc.from) {}

    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const std::size_t n = q.blocks.size();
        if (q.notes.size() < 2 * n) return;  // describe asks without notes
        const std::span<Mask> fresh = q.notes.first(n), before = q.notes.subspan(n, n);
        for (std::size_t i = 0; i < n; ++i) out[i] = q.was[i];
        if (!q.asker.again) {
            begin_round(q, fresh, before);
            test_lanes(q, fresh, before, out);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const auto known = static_cast<Mask>(fresh[i] | before[i]);
            out[i] = static_cast<Mask>(def_.shown_when_unknown ? out[i] | ~known : out[i] & known);
            if (reach_m_ > 0) out[i] &= within(q, i);
        }
    }
    std::string describe(const Question& q, unsigned lane) const override {
        if (q.places.empty()) return "line of sight unknown: the observer is nowhere";
        if (q.slots.is_unplaced(q.blocks[0]))
            return "line of sight unknown: the entity has no place";
        if (reach_m_ > 0 && (within(q, 0) & lane_bit(lane)) == 0)
            return "line of sight: farther than " + number_text(reach_m_);
        Mask fresh = 0, out = 0;
        (void)test_block(q, 0, lane_bit(lane), 1, fresh, out);
        const bool said = (q.was[0] & lane_bit(lane)) != 0;
        const bool sees = (out & lane_bit(lane)) != 0;
        return std::string("line of sight: ") + (sees ? "nothing" : "something") +
               " is in the way now; the answer that counts says " + (said ? "seen" : "not seen");
    }
    bool answers_unknown() const noexcept override { return false; }
    bool remembers() const noexcept override { return true; }
    unsigned planes() const noexcept override { return 3; }
    bool is_restless() const noexcept override { return true; }
    float reach_m() const noexcept override { return reach_m_; }
    bool needs_place() const noexcept override { return true; }
    bool takes_asked() const noexcept override { return true; }
    LookFrom looks_from() const noexcept override { return from_; }

  private:
    static Mask asked_of(const Question& q, std::size_t i) noexcept {
        const Mask occupied = q.slots.occupied()[q.blocks[i]];
        return q.asked.empty() ? occupied : static_cast<Mask>(occupied & q.asked[i]);
    }
    void begin_round(const Question& q, std::span<Mask> fresh,
                     std::span<Mask> before) const noexcept {
        if (q.asker.tick % std::max(def_.grace_ticks / 2, 1U) != 0) return;
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            before[i] = fresh[i];
            fresh[i] = 0;
        }
    }
    void test_lanes(const Question& q, std::span<Mask> fresh, std::span<const Mask> before,
                    std::span<Mask> out) const noexcept {
        const std::size_t n = fresh.size();
        std::size_t asked = 0;
        for (std::size_t i = 0; i < n; ++i)
            asked += static_cast<std::size_t>(std::popcount(asked_of(q, i)));
        std::uint32_t left = def_.tests_per_tick;
        const auto test = [&](std::size_t i, int wanted) {
            left -= test_block(q, i, static_cast<Mask>(wanted), left, fresh[i], out[i]);
        };
        for (std::size_t i = 0; asked > left && i < n; ++i)
            test(i, asked_of(q, i) & ~(fresh[i] | before[i]));
        for (std::size_t i = 0; asked > def_.tests_per_tick && left > 0 && i < n; ++i)
            test(i, asked_of(q, i) & ~fresh[i]);
        const std::size_t from = n == 0 ? 0 : std::size_t{q.asker.tick} * 7 % n;
        for (std::size_t k = 0; left > 0 && k < n; ++k) {
            const std::size_t i = (from + k) % n;
            test(i, asked_of(q, i));
        }
    }
    Mask within(const Question& q, std::size_t i) const noexcept {
        const Slots& slots = q.slots;
        Mask near = 0;
        for (Mask rest = slots.occupied()[q.blocks[i]]; rest != 0;
             rest &= static_cast<Mask>(rest - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const Vec3 at = slots.place(slot_at(q.blocks[i], lane));
            for (const Vec3 place : q.places) {
                if (is_near(slots, at, place)) near |= lane_bit(lane);
            }
        }
        return near;
    }
    bool is_near(const Slots& slots, Vec3 a, Vec3 b) const noexcept {
        if (!(reach_m_ > 0)) return true;
        const float dx = a.x - b.x, dy = a.y - b.y;
        float sum = dx * dx + dy * dy;
        if (slots.axes() == 3) sum = sum + (a.z - b.z) * (a.z - b.z);
        return sum <= reach_m_ * reach_m_;
    }
    static Vec3 ahead(Vec3 at, Vec3 velocity, float seconds) noexcept {
        return {at.x + velocity.x * seconds, at.y + velocity.y * seconds,
                at.z + velocity.z * seconds};
    }

    /// Tests at most `budget` of the wanted lanes; returns how many.
    std::uint32_t test_block(const Question& q, std::size_t i, Mask wanted, std::uint32_t budget,
                             Mask& fresh, Mask& out) const noexcept {
        constexpr std::size_t queries_max = 64;
        std::array<SightQuery, queries_max> queries;
        std::array<unsigned, queries_max> lanes{};
        std::array<std::uint8_t, queries_max> visible{};
        std::uint32_t tested = 0;
        std::size_t n = 0;
        const auto ask = [&] {
            sight_->test(q.observer, std::span(queries).first(n), std::span(visible).first(n));
            for (std::size_t k = 0; k < n; ++k) {
                if (visible[k] != 0) out |= lane_bit(lanes[k]);
                visible[k] = 0;
            }
            n = 0;
        };
        const auto put = [&](EntityId entity, unsigned lane, Vec3 from, Vec3 to) {
            if (n == queries_max) ask();
            lanes[n] = lane;
            queries[n++] = {entity, q.slots.outer(from), q.slots.outer(to)};
        };
        for (Mask rest = wanted; rest != 0 && tested < budget;
             rest &= static_cast<Mask>(rest - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const Slot slot = slot_at(q.blocks[i], lane);
            const EntityId entity = q.slots.entity(slot);
            const Vec3 at = q.slots.place(slot);
            out = static_cast<Mask>(out & ~lane_bit(lane));
            fresh |= lane_bit(lane);
            ++tested;
            for (const Vec3 place : q.places) {
                if (!is_near(q.slots, at, place)) continue;
                put(entity, lane, place, at);
                if (!def_.predict) continue;
                const float seconds = q.asker.lookahead_s;
                put(entity, lane, ahead(place, q.asker.velocity, seconds),
                    ahead(at, q.slots.velocity(entity), seconds));
            }
        }
        if (n > 0) ask();
        return tested;
    }

    std::shared_ptr<const SightTest> sight_;
    SightDef def_;
    float reach_m_;
    LookFrom from_;
};

}  // namespace

std::shared_ptr<const InterestKernel> make_sight_kernel(const KernelDesc& desc) {
    return std::make_shared<SightKernel>(desc);
}

}  // namespace purview

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle_twins.hpp"

#include <algorithm>
#include <cmath>

namespace purview::test {

namespace {

using check::CustomAnswer;

CustomAnswer yes_if(bool yes) {
    return yes ? CustomAnswer::yes : CustomAnswer::no;
}

/// Returns a random length, a whole number if the world uses a lattice.
float length(SplitMix& random, const TwinSpace& space, float low, float high) {
    const float any = random.between(low, high);
    return space.lattice ? std::floor(any) + 1 : any;
}

/// The Manhattan distance along the active axes, which no kernel of the library uses.
float steps_between(Axes axes, Vec3 a, Vec3 b) {
    const float x = std::fabs(a.x - b.x);
    const float y = axes == Axes::xz ? 0 : std::fabs(a.y - b.y);
    const float z = axes == Axes::xy ? 0 : std::fabs(a.z - b.z);
    return x + y + z;
}

float fewest_steps(Axes axes, std::span<const Vec3> positions, Vec3 to) {
    float fewest = std::numeric_limits<float>::infinity();
    for (const Vec3 position : positions)
        fewest = std::min(fewest, steps_between(axes, to, position));
    return fewest;
}

std::shared_ptr<const InterestKernel> twinned(std::string name,
                                              const std::shared_ptr<const KernelBase>& kernel,
                                              TwinnedKernel::Twin twin) {
    return std::make_shared<TwinnedKernel>(std::move(name), kernel, std::move(twin));
}

// -- pair kernels -------------------------------------------------------------------------------

std::shared_ptr<const InterestKernel> steps_kernel(Axes axes, float reach) {
    auto kernel = make_pair_kernel({.name = "steps", .reach = reach},
                                   [axes, reach](Vec3 entity, Vec3 observer) noexcept {
                                       return steps_between(axes, entity, observer) <= reach;
                                   });
    return twinned("steps", kernel, [axes, reach](const auto& observer, const auto& entity, bool) {
        const auto& positions = observer.from(Viewpoints::entity_and_points);
        if (positions.empty() || !entity.has_position) return CustomAnswer::unknown;
        return yes_if(fewest_steps(axes, positions, entity.position) <= reach);
    });
}

/// Matches within `enter` steps, then up to `leave`.
std::shared_ptr<const InterestKernel> sticky_kernel(Axes axes, float enter, float leave) {
    auto kernel = make_pair_kernel({.name = "sticky", .reach = leave, .remembers = true},
                                   [axes, enter, leave](const Pair& p) noexcept {
                                       return fewest_steps(axes, p.positions(), p.position()) <=
                                              (p.was() ? leave : enter);
                                   });
    return twinned(
        "sticky", kernel, [axes, enter, leave](const auto& observer, const auto& entity, bool was) {
            const auto& positions = observer.from(Viewpoints::entity_and_points);
            if (positions.empty() || !entity.has_position) return CustomAnswer::unknown;
            return yes_if(fewest_steps(axes, positions, entity.position) <= (was ? leave : enter));
        });
}

std::shared_ptr<const InterestKernel> every_so_many_kernel(std::uint32_t every) {
    auto kernel = make_pair_kernel(
        {.name = "every n", .reads_positions = false},
        [every](const Pair& p) noexcept { return index_of(p.entity()) % every == 0; });
    return twinned("every", kernel, [every](const auto&, const auto& entity, bool) {
        return yes_if(index_of(entity.id) % every == 0);
    });
}

/// Reads a table of the game. Every change of it needs a call of recheck or rescan.
std::shared_ptr<const InterestKernel> marks_kernel(std::shared_ptr<const PairChoice> choice) {
    auto kernel = make_pair_kernel(
        {.name = "marks", .reads_positions = false},
        [choice](const Pair& p) noexcept { return choice->is_marked(p.observer(), p.entity()); });
    return twinned("marks", kernel, [choice](const auto& observer, const auto& entity, bool) {
        return yes_if(choice->is_marked(observer.id, entity.id));
    });
}

// -- block kernels ------------------------------------------------------------------------------

/// Unknown for entities with the flag. Matches others that share a key with the observer.
class DazzledKernel final : public InterestKernel {
  public:
    DazzledKernel(FlagId flag, KeyId domain) : flag_(flag), domain_(domain) {}
    void test(const KernelQuery& q, std::span<Mask> out,
              std::span<Mask> unknown) const noexcept override {
        const std::span<const Mask> dazzled = q.slots.flags(flag_);
        const std::span<const Key> keys = q.slots.keys(domain_);
        const Key own = q.keys[index_of(domain_)];
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            unknown[i] = dazzled.empty() ? Mask{0} : dazzled[q.blocks[i]];
            for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
                if (keys[slot_at(q.blocks[i], lane)] == own) out[i] |= lane_bit(lane);
            }
        }
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "dazzled"; }
    bool reads_positions() const noexcept override { return false; }

  private:
    FlagId flag_;
    KeyId domain_;
};

std::shared_ptr<const InterestKernel> dazzled_kernel(FlagId flag, KeyId domain) {
    return twinned(
        "dazzled", std::make_shared<DazzledKernel>(flag, domain),
        [flag, domain](const auto& observer, const auto& entity, bool) {
            if (((entity.facts->flags >> index_of(flag)) & 1U) != 0) return CustomAnswer::unknown;
            return yes_if(entity.facts->keys[index_of(domain)] == observer.keys[index_of(domain)]);
        });
}

/// Depends on the entity alone: matches if it has the flag or an even key.
class EvenKernel final : public InterestKernel {
  public:
    EvenKernel(FlagId flag, KeyId domain) : flag_(flag), domain_(domain) {}
    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
                if (test_entity(q.slots, slot_at(q.blocks[i], lane))) out[i] |= lane_bit(lane);
            }
        }
    }
    bool test_entity(const Slots& slots, Slot slot) const noexcept override {
        return slots.flag(flag_, slot) || index_of(slots.keys(domain_)[slot]) % 2 == 0;
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "even"; }
    bool answers_unknown() const noexcept override { return false; }
    DependsOn depends_on() const noexcept override { return DependsOn::entity; }
    bool reads_positions() const noexcept override { return false; }

  private:
    FlagId flag_;
    KeyId domain_;
};

std::shared_ptr<const InterestKernel> even_kernel(FlagId flag, KeyId domain) {
    return twinned("even", std::make_shared<EvenKernel>(flag, domain),
                   [flag, domain](const auto&, const auto& entity, bool) {
                       return yes_if(((entity.facts->flags >> index_of(flag)) & 1U) != 0 ||
                                     index_of(entity.facts->keys[index_of(domain)]) % 2 == 0);
                   });
}

// -- dispatchers --------------------------------------------------------------------------------

CellId cell_at(std::int32_t column, std::int32_t row) {
    return (CellId{static_cast<std::uint32_t>(column)} << 32) | static_cast<std::uint32_t>(row);
}

/// Square cells. An entity may also be in neighboring cells. An observer covers `rings` rings.
class SquaresDispatcher final : public NamedDispatcher {
  public:
    SquaresDispatcher(Axes axes, float side, std::int32_t overlap, std::int32_t rings)
        : NamedDispatcher(overlap > 0 ? "squares that overlap" : "squares"),
          axes_(axes),
          side_(side),
          overlap_(overlap),
          rings_(rings) {}
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        if (entity.has_position) append(entity.position, overlap_, out);
    }
    void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
        for (const Vec3 position : observer.positions) append(position, rings_, out);
    }

  private:
    void append(Vec3 position, std::int32_t rings, std::vector<CellId>& out) const {
        const float second = axes_ == Axes::xz ? position.z : position.y;
        const auto column = static_cast<std::int32_t>(std::floor(position.x / side_));
        const auto row = static_cast<std::int32_t>(std::floor(second / side_));
        for (std::int32_t c = column - rings; c <= column + rings; ++c) {
            for (std::int32_t r = row - rings; r <= row + rings; ++r) out.push_back(cell_at(c, r));
        }
    }
    Axes axes_;
    float side_;
    std::int32_t overlap_;
    std::int32_t rings_;
};

/// The odd and even inner nodes of the RFC.
class OddEvenDispatcher final : public NamedDispatcher {
  public:
    OddEvenDispatcher() : NamedDispatcher("odd and even") {}
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        out.push_back(index_of(entity.entity) % 2);
    }
    void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
        out.push_back(index_of(observer.observer) % 2);
        out.push_back(index_of(observer.observer) % 2);
    }
    bool reads_positions() const noexcept override { return false; }
};

/// Rooms by key. Entities with the flag are in the hall (cell 0), which all observers cover.
class RoomsDispatcher final : public NamedDispatcher {
  public:
    RoomsDispatcher(FlagId hall, KeyId room) : NamedDispatcher("rooms"), hall_(hall), room_(room) {}
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        if (((entity.flags >> index_of(hall_)) & 1U) != 0) out.push_back(0);
        if (const Key key = entity.keys[index_of(room_)]; key != Key::none)
            out.push_back(index_of(key));
    }
    void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
        out.push_back(0);
        if (const Key key = observer.keys[index_of(room_)]; key != Key::none)
            out.push_back(index_of(key));
    }
    bool reads_positions() const noexcept override { return false; }

  private:
    FlagId hall_;
    KeyId room_;
};

// -- sight --------------------------------------------------------------------------------------

class CellsSight final : public RayTest {
  public:
    CellsSight(Axes axes, float side, std::uint64_t seed) : axes_(axes), side_(side), seed_(seed) {}
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const std::uint64_t both =
                combine64(combine64(seed_, cell_of(queries[i].from)), cell_of(queries[i].to));
            visible[i] = both % 8 < 5 ? 1 : 0;
        }
    }

  private:
    std::uint64_t cell_of(Vec3 position) const noexcept {
        const float second = axes_ == Axes::xz ? position.z : position.y;
        return cell_at(static_cast<std::int32_t>(std::floor(position.x / side_)),
                       static_cast<std::int32_t>(std::floor(second / side_)));
    }
    Axes axes_;
    float side_;
    std::uint64_t seed_;
};

FlagId random_flag(SplitMix& random, const TwinSpace& space) {
    return id_at<FlagId>(random.below(space.flags));
}

KeyId random_domain(SplitMix& random, const TwinSpace& space) {
    return id_at<KeyId>(random.below(space.keys));
}

}  // namespace

bool PairChoice::is_marked(ObserverId observer, EntityId entity) const {
    const auto at = [](const std::vector<std::uint8_t>& marks, std::uint32_t index) {
        return index < marks.size() && marks[index] != 0;
    };
    return at(entity_marks, index_of(entity)) != at(observer_marks, index_of(observer));
}

void TwinnedNode::query_for(const Visibility&, ObserverId observer, std::vector<EntityId>& out) {
    for (const EntityId unit : choice_->units) {
        if (!twin_(observer, unit)) continue;
        out.push_back(unit);
        if (index_of(unit) % 7 == 0) out.push_back(unit);  // a duplicate has no effect
    }
}

void TwinnedNode::observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) {
    for (const ObserverId observer : choice_->observers) {
        if (twin_(observer, entity)) out.push_back(observer);
    }
}

std::shared_ptr<const InterestKernel> random_kernel_of_our_own(SplitMix& random,
                                                               const TwinSpace& space) {
    const float reach = length(random, space, 5, 60);
    switch (random.below(6)) {
        case 0:
            return steps_kernel(space.axes, reach);
        case 1:
            return sticky_kernel(space.axes, reach, reach + length(random, space, 0, 15));
        case 2:
            return every_so_many_kernel(2 + random.below(3));
        case 3:
            return marks_kernel(space.choice);
        case 4:
            return dazzled_kernel(random_flag(random, space), random_domain(random, space));
        default:
            return even_kernel(random_flag(random, space), random_domain(random, space));
    }
}

std::shared_ptr<CustomNode> random_node_of_our_own(SplitMix& random, const TwinSpace& space) {
    const bool entity_centric = random.chance(0.5F);
    const std::shared_ptr<PairChoice> choice = space.choice;
    if (random.chance(0.6F)) {
        return std::make_shared<TableNode>(
            "table", choice,
            [choice](ObserverId observer, EntityId entity) {
                return choice->pairs.count({index_of(observer), index_of(entity)}) != 0;
            },
            entity_centric);
    }
    const std::uint32_t every = 2 + random.below(3);
    return std::make_shared<TwinnedNode>(
        "sums", choice,
        [every](ObserverId observer, EntityId entity) {
            return (index_of(observer) + index_of(entity)) % every == 0;
        },
        entity_centric);
}

std::shared_ptr<NamedDispatcher> random_dispatcher(SplitMix& random, const TwinSpace& space) {
    const float side = length(random, space, 15, 50);
    switch (random.below(4)) {
        case 0:
            return std::make_shared<OddEvenDispatcher>();
        case 1:
            return std::make_shared<RoomsDispatcher>(random_flag(random, space),
                                                     random_domain(random, space));
        case 2:
            return std::make_shared<SquaresDispatcher>(space.axes, side, 0, 1);
        default:
            return std::make_shared<SquaresDispatcher>(space.axes, side, 1, 0);
    }
}

std::shared_ptr<const RayTest> random_sight(SplitMix& random, const TwinSpace& space) {
    const float side = length(random, space, 8, 30);
    return std::make_shared<CellsSight>(space.axes, side, random.next());
}

check::CustomAnswer evaluate_kernel_twin(const Kernel& kernel, const check::ObserverView& observer,
                                         const check::EntityView& entity, bool was) {
    return static_cast<const TwinnedKernel&>(*kernel.custom).twin()(observer, entity, was);
}

bool evaluate_node_twin(const NodeDef& node, const check::ObserverView& observer,
                        const check::EntityView& entity) {
    return static_cast<const TwinnedNode&>(*node.custom).twin()(observer.id, entity.id);
}

}  // namespace purview::test

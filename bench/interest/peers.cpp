// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The peers: straightforward implementations and commonly used libraries. Built with -march=native.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tested_engine.hpp"

#ifdef PURVIEW_BENCH_BOOST
#include <boost/geometry.hpp>
#include <boost/geometry/geometries/box.hpp>
#include <boost/geometry/geometries/point.hpp>
#include <boost/geometry/index/rtree.hpp>
#endif
#ifdef PURVIEW_BENCH_NANOFLANN
#include <nanoflann.hpp>
#endif
#ifdef PURVIEW_BENCH_BOX2D
#include <box2d/b2_dynamic_tree.h>
#endif
#ifdef PURVIEW_BENCH_BULLET
#include <BulletCollision/BroadphaseCollision/btDbvt.h>
#endif

namespace purview::bench {

void SortedSets::compare(std::uint32_t observer) {
    auto& now = now_[observer];
    const auto& before = before_[observer];
    std::sort(now.begin(), now.end());
    std::size_t i = 0, j = 0;
    while (i < now.size() || j < before.size()) {
        if (j == before.size() || (i < now.size() && now[i] < before[j])) {
            events_.push_back({observer, now[i++], true});
        } else if (i == now.size() || before[j] < now[i]) {
            events_.push_back({observer, before[j++], false});
        } else {
            ++i;
            ++j;
        }
    }
}

namespace {

/// Positions by index and sorted sets, which peers that only answer queries need in addition.
class QueryEngine : public Engine {
  public:
    void load(const Workload& workload, std::uint32_t observers) override {
        const std::size_t n = workload.positions().size();
        observers_ = observers;
        radius_ = static_cast<float>(workload.scene().radius);
        side_ = static_cast<float>(workload.side());
        step_ = static_cast<float>(workload.scene().step);
        x_.resize(n);
        y_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            x_[i] = workload.positions()[i].x;
            y_[i] = workload.positions()[i].y;
        }
        sets_.reset(observers);
        build();
    }
    void query() override {
        sets_.begin_tick();
        for (std::uint32_t o = 0; o < observers_; ++o) {
            find(o, sets_.fresh(o));
            sets_.compare(o);
        }
    }
    void for_each_event(const Notify& notify) const override { sets_.for_each_event(notify); }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        sets_.for_each_relevant(o, visit);
    }

  protected:
    virtual void build() = 0;
    virtual void find(std::uint32_t observer, std::vector<std::uint32_t>& out) = 0;
    bool is_near(std::uint32_t e, float ox, float oy) const {
        const float dx = x_[e] - ox, dy = y_[e] - oy;
        return dx * dx + dy * dy <= radius_ * radius_;
    }

    std::uint32_t observers_ = 0;
    float radius_ = 0, side_ = 0, step_ = 0;
    std::vector<float> x_, y_;
    SortedSets sets_;
};

class Brute final : public QueryEngine {
    void build() override {}
    void update(std::span<const Move> moves) override {
        for (const Move& m : moves) {
            x_[index_of(m.entity)] = m.position.x;
            y_[index_of(m.entity)] = m.position.y;
        }
    }
    void find(std::uint32_t o, std::vector<std::uint32_t>& out) override {
        const float ox = x_[o], oy = y_[o], r2 = radius_ * radius_;
        const std::size_t n = x_.size(), whole = n / 16 * 16;
        for (std::size_t i = 0; i < whole; i += 16) {
            std::uint32_t any = 0;
            std::uint32_t bits[16];
            for (unsigned l = 0; l < 16; ++l) {
                const float dx = x_[i + l] - ox, dy = y_[i + l] - oy;
                bits[l] = dx * dx + dy * dy <= r2 ? 1U << l : 0U;
            }
            for (unsigned l = 0; l < 16; ++l) any |= bits[l];
            for (; any != 0; any &= any - 1) {
                out.push_back(static_cast<std::uint32_t>(i) +
                              static_cast<std::uint32_t>(__builtin_ctz(any)));
            }
        }
        for (std::size_t i = whole; i < n; ++i) {
            if (is_near(static_cast<std::uint32_t>(i), ox, oy)) {
                out.push_back(static_cast<std::uint32_t>(i));
            }
        }
    }
};

/// The textbook solution: cells as wide as the radius, nine of them queried. Cells store the
/// positions.
class TextbookGrid final : public QueryEngine {
    struct Home {
        std::uint32_t cell, at;
    };
    struct Item {
        float x, y;
        std::uint32_t id;
    };
    void build() override {
        nx_ = static_cast<std::uint32_t>(side_ / radius_) + 1;
        cells_.assign(std::size_t{nx_} * nx_, {});
        home_.resize(x_.size());
        for (std::uint32_t i = 0; i < x_.size(); ++i) insert({x_[i], y_[i], i});
    }
    std::uint32_t axis(float v) const { return static_cast<std::uint32_t>(v / radius_); }
    std::uint32_t cell_of(float x, float y) const { return axis(y) * nx_ + axis(x); }
    void insert(const Item& item) {
        auto& cell = cells_[cell_of(item.x, item.y)];
        home_[item.id] = {cell_of(item.x, item.y), static_cast<std::uint32_t>(cell.size())};
        cell.push_back(item);
    }
    void update(std::span<const Move> moves) override {
        for (const Move& m : moves) {
            const Item item{m.position.x, m.position.y, index_of(m.entity)};
            const Home home = home_[item.id];
            auto& cell = cells_[home.cell];
            if (cell_of(item.x, item.y) == home.cell) {
                cell[home.at] = item;
                continue;
            }
            cell[home.at] = cell.back();
            home_[cell.back().id].at = home.at;
            cell.pop_back();
            insert(item);
        }
    }
    void find(std::uint32_t o, std::vector<std::uint32_t>& out) override {
        const Item& own = cells_[home_[o].cell][home_[o].at];
        const float ox = own.x, oy = own.y, r2 = radius_ * radius_;
        const std::uint32_t cx = axis(ox), cy = axis(oy);
        for (std::uint32_t y = cy == 0 ? 0 : cy - 1; y <= std::min(cy + 1, nx_ - 1); ++y) {
            for (std::uint32_t x = cx == 0 ? 0 : cx - 1; x <= std::min(cx + 1, nx_ - 1); ++x) {
                for (const Item& e : cells_[y * nx_ + x]) {
                    const float dx = e.x - ox, dy = e.y - oy;
                    if (dx * dx + dy * dy <= r2) out.push_back(e.id);
                }
            }
        }
    }
    std::uint32_t nx_ = 0;
    std::vector<std::vector<Item>> cells_;
    std::vector<Home> home_;
};

/// Unity's RFC 0015, implemented from its text: engine objects with a transform each, a node with a
/// hash set of them, a list of kernels behind an interface with a result set each, and the union of
/// the results. Two passes then find the changes.
class RfcNode final : public Engine {
    struct Transform {
        float x, y;
    };
    struct NetworkObject {
        std::uint32_t id;
        std::unique_ptr<Transform> transform;
    };
    using Set = std::unordered_set<NetworkObject*>;
    struct IInterestKernel {
        virtual ~IInterestKernel() = default;
        virtual bool query_for(const NetworkObject& client, const NetworkObject& object) const = 0;
    };
    struct RadiusInterestKernel final : IInterestKernel {
        explicit RadiusInterestKernel(float r) : radius(r) {}
        bool query_for(const NetworkObject& c, const NetworkObject& o) const override {
            const float dx = o.transform->x - c.transform->x, dy = o.transform->y - c.transform->y;
            return std::sqrt(dx * dx + dy * dy) <= radius;
        }
        float radius;
    };
    struct InterestNodeStatic {
        void query_for(const NetworkObject& client, Set& results) {
            for (std::size_t i = 0; i < kernels.size(); ++i) {
                Set& these = result_sets[i];
                these.clear();
                for (NetworkObject* object : managed) {
                    if (kernels[i].second->query_for(client, *object)) these.insert(object);
                }
            }
            for (std::size_t i = 0; i < kernels.size(); ++i) {
                for (NetworkObject* object : result_sets[i]) {
                    if (kernels[i].first) {
                        results.insert(object);
                    } else {
                        results.erase(object);
                    }
                }
            }
        }
        Set managed;
        std::vector<std::pair<bool, std::unique_ptr<IInterestKernel>>> kernels;
        std::vector<Set> result_sets;
    };
    void load(const Workload& workload, std::uint32_t observers) override {
        observers_ = observers;
        node_.kernels.emplace_back(true, std::make_unique<RadiusInterestKernel>(
                                             static_cast<float>(workload.scene().radius)));
        node_.result_sets.emplace_back();
        for (std::uint32_t i = 0; i < workload.positions().size(); ++i) {
            objects_.push_back(std::make_unique<NetworkObject>());
            objects_.back()->id = i;
            objects_.back()->transform = std::make_unique<Transform>(
                Transform{workload.positions()[i].x, workload.positions()[i].y});
        }
        node_.managed.reserve(objects_.size());  // allocates them in the order of iteration
        for (auto& o : objects_) node_.managed.insert(o.get());
        seen_.assign(observers, {});
    }
    void update(std::span<const Move> moves) override {
        for (const Move& m : moves) {
            *objects_[index_of(m.entity)]->transform = {m.position.x, m.position.y};
        }
    }
    void query() override {
        events_.clear();
        for (std::uint32_t o = 0; o < observers_; ++o) {
            Set results;
            node_.query_for(*objects_[o], results);
            for (NetworkObject* object : results) {
                if (!seen_[o].contains(object)) events_.push_back({o, object->id, true});
            }
            for (NetworkObject* object : seen_[o]) {
                if (!results.contains(object)) events_.push_back({o, object->id, false});
            }
            seen_[o].swap(results);
        }
    }
    void for_each_event(const Notify& notify) const override {
        for (const auto& e : events_) notify(e.observer, e.entity, e.enter);
    }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        for (const NetworkObject* object : seen_[o]) visit(object->id);
    }
    struct Event {
        std::uint32_t observer, entity;
        bool enter;
    };
    std::uint32_t observers_ = 0;
    std::vector<std::unique_ptr<NetworkObject>> objects_;
    InterestNodeStatic node_;
    std::vector<Set> seen_;
    std::vector<Event> events_;
};

#ifdef PURVIEW_BENCH_BOOST
class BoostRtree final : public QueryEngine {
    using Point = boost::geometry::model::point<float, 2, boost::geometry::cs::cartesian>;
    using Box = boost::geometry::model::box<Point>;
    using Value = std::pair<Point, std::uint32_t>;
    using Tree = boost::geometry::index::rtree<Value, boost::geometry::index::quadratic<16>>;
    void build() override {
        std::vector<Value> values;
        for (std::uint32_t i = 0; i < x_.size(); ++i) values.push_back({Point(x_[i], y_[i]), i});
        tree_ = Tree(values);
    }
    void update(std::span<const Move> moves) override {
        for (const Move& m : moves) {
            const std::uint32_t i = index_of(m.entity);
            tree_.remove({Point(x_[i], y_[i]), i});
            x_[i] = m.position.x;
            y_[i] = m.position.y;
            tree_.insert({Point(x_[i], y_[i]), i});
        }
    }
    void find(std::uint32_t o, std::vector<std::uint32_t>& out) override {
        const float ox = x_[o], oy = y_[o];
        const Box box(Point(ox - radius_, oy - radius_), Point(ox + radius_, oy + radius_));
        for (auto it = tree_.qbegin(boost::geometry::index::intersects(box)); it != tree_.qend();
             ++it) {
            if (is_near(it->second, ox, oy)) out.push_back(it->second);
        }
    }
    Tree tree_;
};
#endif

#ifdef PURVIEW_BENCH_NANOFLANN
class Nanoflann final : public QueryEngine {
    struct Cloud {
        const Nanoflann* engine;
        std::size_t kdtree_get_point_count() const { return engine->x_.size(); }
        float kdtree_get_pt(std::size_t i, std::size_t axis) const {
            return axis == 0 ? engine->x_[i] : engine->y_[i];
        }
        template <class B>
        bool kdtree_get_bbox(B&) const {
            return false;
        }
    };
    using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Cloud>,
                                                     Cloud, 2, std::uint32_t>;
    void build() override {
        tree_ = std::make_unique<Tree>(2, cloud_, nanoflann::KDTreeSingleIndexAdaptorParams(16));
        tree_->buildIndex();
    }
    void update(std::span<const Move> moves) override {
        for (const Move& m : moves) {
            x_[index_of(m.entity)] = m.position.x;
            y_[index_of(m.entity)] = m.position.y;
        }
        tree_->buildIndex();
    }
    void find(std::uint32_t o, std::vector<std::uint32_t>& out) override {
        const float at[2] = {x_[o], y_[o]};
        found_.clear();
        nanoflann::SearchParams params;
        params.sorted = false;
        // The library's disc is open. Squared distances are integers, so adding one half closes it.
        (void)tree_->radiusSearch(at, radius_ * radius_ + 0.5F, found_, params);
        for (const auto& f : found_) out.push_back(f.first);
    }
    Cloud cloud_{this};
    std::unique_ptr<Tree> tree_;
    std::vector<std::pair<std::uint32_t, float>> found_;
};
#endif

#ifdef PURVIEW_BENCH_BOX2D
/// Scaled so that the library's margin of 0.1 equals the step.
class Box2d final : public QueryEngine {
    static constexpr float scale = 1.0F / 128;
    static b2AABB box_of(float x, float y, float reach) {
        return {{(x - reach) * scale, (y - reach) * scale},
                {(x + reach) * scale, (y + reach) * scale}};
    }
    void build() override {
        proxy_.resize(x_.size());
        for (std::uint32_t i = 0; i < x_.size(); ++i) {
            proxy_[i] = tree_.CreateProxy(box_of(x_[i], y_[i], 0),
                                          reinterpret_cast<void*>(static_cast<std::uintptr_t>(i)));
        }
    }
    void update(std::span<const Move> moves) override {
        for (const Move& m : moves) {
            const std::uint32_t i = index_of(m.entity);
            x_[i] = m.position.x;
            y_[i] = m.position.y;
            tree_.MoveProxy(proxy_[i], box_of(x_[i], y_[i], 0), {0, 0});
        }
    }
    struct Collector {
        Box2d* engine;
        float ox, oy;
        std::vector<std::uint32_t>* out;
        bool QueryCallback(std::int32_t proxy) {
            const auto e = static_cast<std::uint32_t>(
                reinterpret_cast<std::uintptr_t>(engine->tree_.GetUserData(proxy)));
            if (engine->is_near(e, ox, oy)) out->push_back(e);
            return true;
        }
    };
    void find(std::uint32_t o, std::vector<std::uint32_t>& out) override {
        Collector collector{this, x_[o], y_[o], &out};
        tree_.Query(&collector, box_of(x_[o], y_[o], radius_));
    }
    b2DynamicTree tree_;
    std::vector<std::int32_t> proxy_;
};
#endif

#ifdef PURVIEW_BENCH_BULLET
class Bullet final : public QueryEngine {
    static btDbvtVolume volume(float x, float y, float reach) {
        return btDbvtVolume::FromMM(btVector3(x - reach, y - reach, 0),
                                    btVector3(x + reach, y + reach, 0));
    }
    void build() override {
        leaf_.resize(x_.size());
        for (std::uint32_t i = 0; i < x_.size(); ++i) {
            leaf_[i] = tree_.insert(volume(x_[i], y_[i], 0),
                                    reinterpret_cast<void*>(static_cast<std::uintptr_t>(i)));
        }
        tree_.optimizeTopDown();
    }
    void update(std::span<const Move> moves) override {
        for (const Move& m : moves) {
            const std::uint32_t i = index_of(m.entity);
            x_[i] = m.position.x;
            y_[i] = m.position.y;
            btDbvtVolume v = volume(x_[i], y_[i], 0);
            tree_.update(leaf_[i], v, step_);
        }
    }
    struct Collector final : btDbvt::ICollide {
        Bullet* engine;
        float ox, oy;
        std::vector<std::uint32_t>* out;
        void Process(const btDbvtNode* leaf) override {
            const auto e = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(leaf->data));
            if (engine->is_near(e, ox, oy)) out->push_back(e);
        }
    };
    void find(std::uint32_t o, std::vector<std::uint32_t>& out) override {
        Collector collector;
        collector.engine = this;
        collector.ox = x_[o];
        collector.oy = y_[o];
        collector.out = &out;
        tree_.collideTV(tree_.m_root, volume(x_[o], y_[o], radius_), collector);
    }
    btDbvt tree_;
    std::vector<btDbvtNode*> leaf_;
};
#endif

}  // namespace

std::unique_ptr<Engine> make_peer(const std::string& name) {
    if (name == "brute") return std::make_unique<Brute>();
    if (name == "textbook") return std::make_unique<TextbookGrid>();
    if (name == "rfc-node") return std::make_unique<RfcNode>();
#ifdef PURVIEW_BENCH_BOOST
    if (name == "boost-rtree") return std::make_unique<BoostRtree>();
#endif
#ifdef PURVIEW_BENCH_NANOFLANN
    if (name == "nanoflann") return std::make_unique<Nanoflann>();
#endif
#ifdef PURVIEW_BENCH_BOX2D
    if (name == "box2d") return std::make_unique<Box2d>();
#endif
#ifdef PURVIEW_BENCH_BULLET
    if (name == "bullet") return std::make_unique<Bullet>();
#endif
    return nullptr;
}

std::vector<std::string> peer_names() {
    std::vector<std::string> names;
    for (const char* name :
         {"brute", "textbook", "rfc-node", "boost-rtree", "nanoflann", "box2d", "bullet"}) {
        if (make_peer(name) != nullptr) names.emplace_back(name);
    }
    return names;
}

}  // namespace purview::bench

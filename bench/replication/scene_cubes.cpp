// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 901 cubes at 60 Hz, acknowledged after 100 ms. Compares Purview's bytes with those of the
// article's scheme on the same capture, lossless after quantization.
#include <cstdio>
#include <optional>

#include "protocol/schema_access.hpp"
#include "replication/article_codec.hpp"
#include "replication/check.hpp"
#include "replication/scenes.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t tick_hz = 60, ack_frames = 6, rounds = 3;

struct Position {
    Vec3 at;
};
struct Turn {
    std::uint8_t largest = 0;
    std::uint16_t a = 0, b = 0, c = 0;
};
struct Touch {
    bool interacting = false;
};

struct CubeSchema {
    CubeSchema() {
        position = schema.component<Position>("place");
        const double step = 1 / cube_steps_per_m;
        FieldDef x{"x",           FieldType::quantized, 0,    4, true,
                   -cube_bound_m, cube_bound_m - step,  step, 0};
        FieldDef y = x, z = x;
        y.name = "y";
        y.offset_bytes = 4;
        z.name = "z";
        z.offset_bytes = 8;
        z.min = 0;
        z.max = 32 - step;
        for (const FieldDef& f : {x, y, z}) {
            SchemaAccess::add_field(schema, position.id, f);
            schema.extrapolate(position.id, f.name);
        }
        turn = schema.component<Turn>("turn")
                   .integer("largest", &Turn::largest, 0, 3)
                   .integer("a", &Turn::a, 0, 511)
                   .integer("b", &Turn::b, 0, 511)
                   .integer("c", &Turn::c, 0, 511);
        for (const char* part : {"a", "b", "c"}) schema.extrapolate(turn.id, part);
        touch = schema.component<Touch>("touch").boolean("interacting", &Touch::interacting);
        schema.set_position(position.id);
        cube = schema.kind("cube", {position.id, turn.id, touch.id});
    }
    Schema schema;
    Component<Position> position;
    Component<Turn> turn;
    Component<Touch> touch;
    KindId cube{};
};

class OurCubes {
  public:
    OurCubes(const std::vector<CubeFrame>& capture, float loss) : capture_(&capture) {
        StageDef def;
        def.server.schema = &schema_.schema;
        def.server.tick_hz = tick_hz;
        def.server.budget_bytes_per_tick = 16'000;
        def.server.rules.min = {-cube_bound_m, -cube_bound_m, 0};
        def.server.rules.max = {cube_bound_m, cube_bound_m, 0};
        def.server.rules.entities_expected = cube_count;
        def.server.entities_max = 1024;
        def.clients = def.watchers = 1;
        def.loss = loss;
        def.ack_ticks = ack_frames;
        Script script;
        script.populate = [this](World& world) {
            for (std::uint32_t i = 0; i < cube_count; ++i) {
                cubes_.push_back(world.spawn({.kind = schema_.cube}));
            }
            show(world, 0);
        };
        script.joined = [](Server&, ObserverId, std::uint32_t) {};
        script.simulate = [this](Server& server, Tick) { show(server.world(), frame); };
        script.relevant = [](const World& world, std::uint32_t) { return all_of(world); };
        stage.emplace(def, std::move(script));
        meter.emplace(schema_.schema);
        stage->on_datagram = [this](std::span<const std::byte> datagram) { meter->read(datagram); };
    }

    std::size_t frame = 0;
    std::optional<Stage> stage;
    std::optional<WireMeter> meter;

  private:
    void show(World& world, std::size_t number) {
        const CubeFrame& now = (*capture_)[number];
        for (std::uint32_t i = 0; i < cube_count; ++i) {
            const CubeState& c = now[i];
            if (number > 0 && c == (*capture_)[number - 1][i]) continue;
            const auto meters = [](std::int32_t steps, double from) {
                return static_cast<float>(from + steps / cube_steps_per_m);
            };
            (void)world.move(cubes_[i],
                             {meters(c.position[0], -cube_bound_m),
                              meters(c.position[1], -cube_bound_m), meters(c.position[2], 0)});
            *world.edit(cubes_[i], schema_.turn) = {
                c.largest, static_cast<std::uint16_t>(c.turn[0]),
                static_cast<std::uint16_t>(c.turn[1]), static_cast<std::uint16_t>(c.turn[2])};
            world.edit(cubes_[i], schema_.touch)->interacting = c.interacting;
        }
    }

    const std::vector<CubeFrame>* capture_;
    CubeSchema schema_;
    std::vector<EntityId> cubes_;
};

/// The article's scheme over the same kind of link: tracks which frame is acknowledged.
class ArticleLine {
  public:
    ArticleLine(const std::vector<CubeFrame>& capture, float loss)
        : capture_(&capture), loss_(loss), random_(5), out_(1 << 16) {}
    /// Sends the next frame, in order from 0 on. Returns its bytes.
    std::size_t send(std::size_t f) {
        // An acknowledgement names the newest frame that arrived, so a later one covers a lost one.
        newest_.push_back(random_.chance(loss_) ? (newest_.empty() ? none : newest_.back()) : f);
        if (f >= ack_frames && !random_.chance(loss_) && newest_[f - ack_frames] != none) {
            known_ = newest_[f - ack_frames];
        }
        const Stopwatch watch;
        const CubeFrame* baseline = known_ == none ? nullptr : &(*capture_)[known_];
        const std::size_t bits = write_article_frame((*capture_)[f], baseline, out_);
        ms = watch.ms();
        CubeFrame back;
        if (!read_article_frame(out_, baseline, back) || back != (*capture_)[f]) ++wrong;
        return (bits + 7) / 8;
    }
    double ms = 0;
    std::uint64_t wrong = 0;

  private:
    static constexpr std::size_t none = ~std::size_t{0};
    const std::vector<CubeFrame>* capture_;
    float loss_;
    SplitMix random_;
    std::vector<std::byte> out_;
    std::vector<std::size_t> newest_;
    std::size_t known_ = none;
};

std::string name_of(float loss) {
    return "cubes, " + std::to_string(static_cast<int>(loss * 100 + 0.5F)) + " % loss";
}

void run(Report& report, const std::vector<CubeFrame>& capture, float loss) {
    const std::string name = name_of(loss);
    OurCubes scene(capture, loss);
    ArticleLine line(capture, loss);
    if (!scene.stage->join()) {
        report.could_not_run(name + ", joined", "the client did not join");
        return;
    }
    Meter ours, article;
    Checked checked;
    std::uint64_t changed = 0;
    for (std::size_t f = 0; f < ack_frames; ++f) line.send(f);
    const std::size_t first = ack_frames, frames = capture.size() - first;
    scene.meter->reset();
    for (std::size_t i = 0; i < frames; ++i) {  // alternately: A B A B
        if (i % (frames / rounds + 1) == 0) {
            ours.begin_round();
            article.begin_round();
            report_progress(name, "frame " + std::to_string(i));
        }
        scene.frame = first + i;
        ours.add(scene.stage->step());
        article.add_bytes(static_cast<double>(line.send(first + i)));
        article.add_ms(line.ms);
        changed += changed_cubes(capture[first + i], capture[i]);
        if (loss <= 0) checked += check_clients(*scene.stage);
    }
    ours.add_bits(scene.meter->bits());
    if (loss > 0) checked += settle_and_check(*scene.stage);
    std::vector<Row> rows{ours.row(name, "purview", 1), article.row(name, "article", 1)};
    rows[0].checked = checked;
    rows[1].checked = {frames, line.wrong};
    for (Row& row : rows) row.more["kbit_s"] = row.bytes * 8 * tick_hz / 1000;
    rows[1].more["changed_percent"] =
        static_cast<double>(changed) / static_cast<double>(frames) / cube_count * 100;
    add_rows(report, rows);
}

constexpr float losses[] = {0, 0.01F, 0.05F, 0.2F};

}  // namespace

void scene_cubes(Report& report, const Options& options) {
    report_progress("cubes", "capture");
    const auto capture = capture_cubes(1);
    for (const float loss : losses) {
        if (options.quick && loss > 0 && loss != losses[2]) continue;
        if (name_of(loss).find(options.row) != std::string::npos) run(report, capture, loss);
    }
}

void figures_of_cubes(Report& report) {
    double wrong = 0;
    bool ran = false;
    const Row* still = report.find(name_of(0), "article");
    if (still == nullptr) return;
    for (const Row& ours : report.rows) {
        if (ours.scene.rfind("cubes", 0) != 0 || ours.engine != "purview") continue;
        ran = true;
        const Row* article = report.find(ours.scene, "article");
        const std::string name = ours.scene + ", ours/article";
        wrong += static_cast<double>(ours.checked.wrong + article->checked.wrong);
        const double changed = still->more.at("changed_percent");
        if (still->bytes < 450 || still->bytes > 700 || changed < 5 || changed > 60) {
            report.could_not_run(name, "the capture is too easy or too hard");
        } else {
            report.count_at_most(name, ours.bytes / article->bytes, 0.9, 0.75);
        }
    }
    if (ran) report.count_at_most("cubes, mismatches", wrong, 0, 0);
}

}  // namespace purview::bench

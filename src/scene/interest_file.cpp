// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/interest_file.hpp"

#include "scene/strict_table.hpp"

namespace purview::scene {

namespace {

NodeEntry read_node(const toml::node& node, const std::string& path, std::size_t number) {
    if (!node.is_table())
        throw WorldError{text_of(path, position_of(node)) +
                         ": 'interest.node' must be a list of tables"};
    StrictTable in(*node.as_table(), path, "interest.node");
    NodeEntry entry;
    entry.position = position_of(node);
    NodeText& text = entry.text;
    in.read("name", text.name);
    in.read("type", text.type);
    in.read("members", text.members);
    in.read("combine", text.combine);
    in.read("refresh", text.refresh);
    in.read("leave", text.leave);
    in.read("mode", text.mode);
    in.read("lazy_leave", text.lazy_leave);
    in.read("enabled", text.enabled);
    in.read_real("widen_m", text.widen, 0, rule_meters_max);
    in.read_real("priority", text.priority, 0.001, 1000);
    in.read_integer("every_ticks", text.every_ticks, 1, 10'000);
    if (const toml::array* steps = in.array("steps")) {
        for (const toml::node& step : *steps) {
            if (!step.is_string())
                in.fail(step, "a step must be a string such as \"add within 60 leave 66\"");
            text.steps.push_back(step.as_string()->get());
            entry.steps.push_back(position_of(step));
        }
    }
    in.finish();
    for (const auto& [key, value] : *node.as_table())
        entry.keys[std::string(key.str())] = position_of(value);
    if (text.name.empty()) text.name = "node " + std::to_string(number);
    return entry;
}

void read_ranges(StrictTable& in, std::vector<float>& out) {
    const toml::array* ranges = in.array("range_classes_m");
    if (ranges == nullptr) return;
    if (ranges->empty() || ranges->size() > range_classes_max)
        in.fail(*ranges, "'interest.range_classes_m' must have 1 to 6 ranges");
    for (const toml::node& range : *ranges) {
        const double value = range.is_number() ? *range.value<double>() : 0;
        if (!(value > 0) || !(value <= rule_meters_max))
            in.fail(range, "a range must be a number above 0 and at most 1000000");
        if (!out.empty() && !(static_cast<float>(value) > out.back()))
            in.fail(range, "ranges must ascend");
        out.push_back(static_cast<float>(value));
    }
}

/// Iterates over the characters of a string in the source of a TOML file.
class SourceWalker {
  public:
    SourceWalker(const std::string& source, FilePlace position)
        : source_(source), position_(position) {
        std::uint32_t line = 1;
        while (at_ < source_.size() && line < position.line) line += source_[at_++] == '\n' ? 1 : 0;
        for (std::uint32_t column = 1; column < position.column && at_ < source_.size(); ++column)
            skip_character();
        position_ = position;
        const char quote = at_ < source_.size() ? source_[at_] : '\0';
        escapes_ = quote == '"';
        lines_ = source_.compare(at_, 3, std::string(3, quote)) == 0;
        step(lines_ ? 3 : 1);
        if (lines_ && is_at("\r\n")) step(1);
        if (lines_ && is_at("\n")) step(1);
    }
    FilePlace position() const { return position_; }
    /// Advances to the next character of the string.
    void next() {
        if (escapes_ && is_at("\\")) {
            step(1);
            const char what = at_ < source_.size() ? source_[at_] : '\0';
            step(what == 'u' ? 5 : what == 'U' ? 9 : 1);
        } else {
            step(1);
        }
        skip_joint();
    }
    /// Skips a backslash at the end of a line and the white space after it.
    void skip_joint() {
        const std::size_t end = source_.find_first_not_of(" \t\r", at_ + 1);
        if (!lines_ || !escapes_ || !is_at("\\") || end == std::string::npos ||
            source_[end] != '\n') {
            return;
        }
        step(1);
        while (at_ < source_.size() &&
               std::string_view(" \t\r\n").find(source_[at_]) != std::string_view::npos) {
            step(1);
        }
        skip_joint();
    }

  private:
    bool is_at(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }
    void skip_character() {
        do {
            ++at_;
        } while (at_ < source_.size() &&
                 (static_cast<unsigned char>(source_[at_]) & 0xc0U) == 0x80U);
    }
    void step(int characters) {
        for (; characters > 0 && at_ < source_.size(); --characters) {
            const bool line = source_[at_] == '\n';
            skip_character();
            position_.column = line ? 1 : position_.column + 1;
            position_.line += line ? 1 : 0;
        }
    }
    const std::string& source_;
    FilePlace position_;
    std::size_t at_ = 0;
    bool escapes_ = false;
    bool lines_ = false;
};

}  // namespace

InterestEntry read_interest(const toml::table& table, const std::string& path,
                            const std::string& source) {
    StrictTable in(table, path, "interest");
    InterestEntry entry;
    entry.path = path;
    entry.source = source;
    entry.position = position_of(table);
    in.read_real("cell_m", entry.cell_size, 0, rule_meters_max);
    constexpr std::pair<const char*, Axes> axes[] = {
        {"xy", Axes::xy}, {"xz", Axes::xz}, {"xyz", Axes::xyz}};
    in.read_choice("axes", axes, entry.axes);
    read_ranges(in, entry.range_classes);
    in.read_real("observer_range_max_m", entry.observer_range_max, 0, rule_meters_max);
    in.read_real("group_bounds_max_m", entry.group_radius_max, 0, rule_meters_max);
    in.read_integer("minimum_relevance_ticks", entry.minimum_relevance_ticks, 0, 1'000'000);
    constexpr std::pair<const char*, InterestLevel> levels[] = {
        {"none", InterestLevel::none},
        {"scheduling", InterestLevel::replication},
        {"full", InterestLevel::full}};
    in.read_choice("level", levels, entry.level);
    if (const toml::table* sight = in.table("sight")) {
        StrictTable inner(*sight, path, "interest.sight");
        inner.read_integer("tests_per_tick", entry.sight.ray_entities_per_tick, 1, 10'000);
        inner.read_integer("grace_ticks", entry.sight.ray_valid_ticks, 2, 1'000'000);
        inner.read("shown_when_unknown", entry.sight.visible_when_unknown);
        inner.read("predict", entry.sight.predicts_sight);
        inner.finish();
    }
    if (const toml::array* nodes = in.array("node")) {
        for (const toml::node& node : *nodes)
            entry.nodes.push_back(read_node(node, path, entry.nodes.size() + 1));
    }
    in.finish();
    for (const auto& [key, value] : table) {
        if (key.str() != "node") entry.keys.emplace_back(key.str());
    }
    return entry;
}

std::vector<NodeText> InterestEntry::texts() const {
    std::vector<NodeText> out;
    for (const NodeEntry& node : nodes) out.push_back(node.text);
    return out;
}

std::string InterestEntry::describe(const Problem& problem) const {
    FilePlace where = position;
    std::string text = problem.text;
    if (problem.node >= 0 && problem.node < static_cast<int>(nodes.size())) {
        const NodeEntry& node = nodes[static_cast<std::size_t>(problem.node)];
        where = node.position;
        bool is_text = false;
        if (problem.step >= 0 && problem.step < static_cast<int>(node.steps.size())) {
            where = node.steps[static_cast<std::size_t>(problem.step)];
            is_text = true;
            if (problem.column > 0) {
                text = "step \"" + node.text.steps[static_cast<std::size_t>(problem.step)] +
                       "\": " + text;
            }
        } else if (const auto key = node.keys.find(problem.key); key != node.keys.end()) {
            where = key->second;
            is_text = true;
        }
        if (is_text && problem.column > 0) {
            SourceWalker walker(source, where);
            walker.skip_joint();
            for (int i = 1; i < problem.column; ++i) walker.next();
            where = walker.position();
        }
    }
    return text_of(path, where) + ": " + text;
}

Loaded<InterestEntry> parse_interest(const std::string& path, const std::string& text) {
    try {
        const toml::table root = parse_toml(text, path);
        const toml::table* table = root["interest"].as_table();
        if (table == nullptr) return Problem{path + ": has no [interest]"};
        return read_interest(*table, path, text);
    } catch (const WorldError& error) {
        return Problem{error.text};
    }
}

Loaded<InterestEntry> load_interest(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return Problem{text.problem()};
    return parse_interest(path, *text);
}

Loaded<Rules> compile_rules(const InterestEntry& interest, RuleNames names, const Rules& running) {
    names.sight_def = interest.sight;
    Rules around = running;
    around.minimum_relevance_ticks = interest.minimum_relevance_ticks;
    const auto rules = compile_nodes(interest.texts(), names, around, false);
    if (!rules) return Problem{interest.describe(rules.what())};
    return *rules;
}

}  // namespace purview::scene

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/rule_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/read_number.hpp"
#include "interest/rules/rule_problems.hpp"

namespace purview::scene {

namespace {

// -- names --------------------------------------------------------------------------------------

template <class T>
struct Named {
    std::string_view name;
    T value;
};

constexpr Named<Combine> ops[] = {
    {"add", Combine::add}, {"subtract", Combine::subtract}, {"require", Combine::require}};
/// The source of a node's candidates.
enum class NodeSource : std::uint8_t { steps, dispatcher, custom };
NodeSource source_of(const NodeDef& node) {
    return node.dispatcher != nullptr ? NodeSource::dispatcher
           : node.custom != nullptr   ? NodeSource::custom
                                      : NodeSource::steps;
}
constexpr Named<NodeSource> node_types[] = {{"grid", NodeSource::steps},
                                            {"dispatcher", NodeSource::dispatcher},
                                            {"custom", NodeSource::custom}};
constexpr Named<Members> node_members[] = {
    {"all", Members::all}, {"bound", Members::bound}, {"unbound", Members::unbound}};
constexpr Named<RangeFrom> range_names[] = {{"entity", RangeFrom::entity},
                                            {"observer", RangeFrom::observer}};
constexpr Named<Viewpoints> origins[] = {
    {"main", Viewpoints::entity}, {"areas", Viewpoints::points}, {"owned", Viewpoints::owned}};
constexpr Named<bool> shown_words[] = {{"shown", true}, {"hidden", false}};
constexpr Named<bool> yes_words[] = {{"yes", true}, {"no", false}};
constexpr Named<Payload> node_modes[] = {{"per observer", Payload::per_observer},
                                         {"update many", Payload::update_many},
                                         {"read many", Payload::read_many}};
constexpr Named<Retention> leave_policies[] = {{"despawn", Retention::despawn},
                                               {"freeze", Retention::freeze},
                                               {"stale", Retention::stale},
                                               {"deactivate", Retention::deactivate}};

template <class T, std::size_t n>
const T* find_named(const Named<T> (&list)[n], std::string_view name) {
    for (const Named<T>& one : list) {
        if (one.name == name) return &one.value;
    }
    return nullptr;
}

template <class T, std::size_t n>
std::string name_in(const Named<T> (&list)[n], T value) {
    for (const Named<T>& one : list) {
        if (one.value == value) return std::string(one.name);
    }
    return "?";
}

/// Formats a list as "a, b or c".
template <class T, std::size_t n>
std::string all_of(const Named<T> (&list)[n]) {
    std::string text;
    for (std::size_t i = 0; i < n; ++i) {
        text += i == 0 ? "" : i + 1 == n ? " or " : ", ";
        text += list[i].name;
    }
    return text;
}

// -- words and numbers ---------------------------------------------------------------------------

struct Word {
    std::string text;
    int column = 1;
    bool quoted = false;
};

/// The functions of the header catch the Problem.
[[noreturn]] void fail(int column, std::string text) {
    Problem problem;
    problem.text = std::move(text);
    problem.column = column;
    throw problem;
}

[[noreturn]] void fail_key(const char* key, std::string text, int column = 0) {
    Problem problem;
    problem.text = std::move(text);
    problem.key = key;
    problem.column = column;
    throw problem;
}

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Counts UTF-8 characters, not bytes.
int characters_of(std::string_view text) {
    int count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
    return count;
}

/// Reads the quoted word at text[i] and sets i after its closing quote.
std::string read_quoted(const std::string& text, std::size_t& i, int column) {
    std::string out;
    for (++i; i < text.size(); ++i) {
        if (text[i] == '\'') {
            ++i;
            if (i < text.size() && text[i] != '\'' && !is_blank(text[i]))
                fail(column, "a blank must follow the closing quote");
            if (i == text.size() || text[i] != '\'') return out;
        }
        out.push_back(text[i]);  // the second of two quotes
    }
    fail(column, "the closing quote is missing");
}

std::vector<Word> words_of(const std::string& text) {
    std::vector<Word> words;
    for (std::size_t i = 0; i < text.size();) {
        if (is_blank(text[i])) {
            ++i;
            continue;
        }
        Word word;
        word.column = 1 + characters_of(std::string_view(text).substr(0, i));
        word.quoted = text[i] == '\'';
        if (word.quoted) {
            word.text = read_quoted(text, i, word.column);
        } else {
            while (i < text.size() && !is_blank(text[i])) word.text.push_back(text[i++]);
        }
        words.push_back(std::move(word));
    }
    return words;
}

bool read_meters(std::string_view text, float& out) {
    return read_number(text, out) && std::isfinite(out) && out > 0 && out <= rule_meters_max;
}

bool read_side(std::string_view text, float& out) {
    return read_meters(text, out) && out >= rule_side_min_m;
}

/// The shortest text that parses to the same number.
std::string text_of(float value) {
    char buffer[64];
    const float size = std::fabs(value);
    const bool plain = size == 0 || (size >= 1e-4F && size < 1e7F);
    const auto result =
        plain ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed)
              : std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, result.ptr};
}

std::string quoted_name(const std::string& name) {
    bool plain = !name.empty() && name[0] != '\'';
    for (const char c : name) plain = plain && !is_blank(c);
    if (plain) return name;
    std::string text = "'";
    for (const char c : name) text += c == '\'' ? "''" : std::string(1, c);
    return text + "'";
}

template <class Map>
std::string names_in(const Map& map) {
    std::string text;
    for (const auto& entry : map) text += (text.empty() ? "" : ", ") + quoted_name(entry.first);
    return "; available: " + (text.empty() ? "none" : text);
}

template <class Id>
std::string name_of(const std::map<std::string, Id>& names, const Id& id) {
    for (const auto& [name, value] : names) {
        if (value == id) return quoted_name(name);
    }
    return "?";
}

// -- steps ---------------------------------------------------------------------------------------

class StepReader {
  public:
    StepReader(const std::string& text, const RuleNames& names)
        : names_(names), words_(words_of(text)), end_column_(1 + characters_of(text)) {}

    Kernel read() {
        if (words_.empty()) fail(1, "is empty: a step starts with " + all_of(ops));
        const Combine* op = find_named(ops, words_[0].text);
        if (op == nullptr || words_[0].quoted) {
            fail(words_[0].column, "'" + words_[0].text + "' is not " + all_of(ops));
        }
        step_.combine = *op;
        next_ = 1;
        read_kernel();
        return step_;
    }

  private:
    void read_kernel() {
        constexpr const char* kernels =
            "within, same, flag, value, owner, area, everything, neighborhood, hexagons, sight or "
            "kernel";
        if (!more()) fail(end_column_, std::string("must be followed by ") + kernels);
        const Word& word = words_[next_++];
        const auto is = [&](std::string_view name) { return !word.quoted && word.text == name; };
        if (is("within")) return read_within();
        if (is("same")) return read_same();
        if (is("flag")) return read_flag();
        if (is("value")) return read_value();
        if (is("owner")) return read_owner();
        if (is("area")) return read_area();
        if (is("everything")) return read_everything();
        if (is("neighborhood")) return read_neighborhood();
        if (is("hexagons")) return read_hexagons();
        if (is("sight")) return read_sight(word.column);
        if (is("kernel")) return read_custom();
        fail(word.column, "'" + word.text + "' is not " + kernels);
    }

    void read_within() {
        step_.type = KernelType::distance;
        step_.enter = step_.leave = meters("within");
        while (more()) {
            if (option("leave")) {
                step_.leave = meters("leave");
                if (step_.leave < step_.enter)
                    fail(words_[next_ - 1].column, "leave must not be below within");
            } else if (option("of")) {
                step_.range = choose("of", range_names);
            } else if (!read_from()) {
                unexpected("leave, of or from");
            }
        }
    }
    void read_same() {
        step_.type = KernelType::same_key;
        step_.key = name("key", names_.keys);
        if (more()) unexpected(nullptr);
    }
    void read_flag() {
        step_.type = KernelType::flag;
        step_.flag = name("flag", names_.flags);
        if (more()) unexpected(nullptr);
    }
    void read_value() {
        Kernel& kernel = step_;
        kernel.type = KernelType::value;
        kernel.value = name("value", names_.values);
        while (more()) {
            if (option("from")) {
                kernel.min = number("from");
            } else if (option("to")) {
                kernel.max = number("to");
            } else {
                unexpected("from or to");
            }
            if (kernel.max < kernel.min)
                fail(words_[next_ - 1].column, "from must not be above to");
        }
        if (described_.empty()) fail(end_column_, "must be followed by from, to or both");
    }
    void read_owner() {
        step_.type = KernelType::owner;
        if (more()) unexpected(nullptr);
    }
    void read_everything() {
        step_.type = KernelType::everything;
        if (more()) unexpected(nullptr);
    }
    void read_area() {
        step_.type = KernelType::area;
        while (more()) {
            if (!option("leave")) unexpected("leave");
            step_.leave = meters("leave");
        }
    }
    void read_neighborhood() {
        step_.type = KernelType::cells;
        Vec3& size_of_cell = step_.cell_size;
        const Word& size = word("neighborhood", "WIDTHxHEIGHT");
        const std::size_t first = size.text.find('x');
        const std::size_t second =
            first == std::string::npos ? first : size.text.find('x', first + 1);
        const std::string_view text = size.text;
        bool good = first != std::string::npos && read_side(text.substr(0, first), size_of_cell.x);
        good = good &&
               read_side(text.substr(first + 1,
                                     second == std::string::npos ? second : second - first - 1),
                         size_of_cell.y);
        if (good && second != std::string::npos) {
            good = read_side(text.substr(second + 1), size_of_cell.z);
        }
        if (!good || size.quoted) {
            fail(size.column, "'" + size.text + "' is not WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH in " +
                                  side_range());
        }
        if (second == std::string::npos && more() && words_[next_].text[0] == 'x' &&
            !words_[next_].quoted) {
            const Word& depth = words_[next_++];
            if (!read_side(std::string_view(depth.text).substr(1), size_of_cell.z))
                fail(depth.column, "'" + depth.text + "' is not xDEPTH in " + side_range());
        }
        read_rings();
    }
    void read_hexagons() {
        step_.type = KernelType::hexagons;
        Vec3& size_of_cell = step_.cell_size;
        const Word& size = word("hexagons", "their side");
        const std::string_view text = size.text;
        const std::size_t at = text.find('x');
        const bool good = read_side(text.substr(0, at), size_of_cell.x) &&
                          (at == text.npos || read_side(text.substr(at + 1), size_of_cell.z));
        if (!good || size.quoted)
            fail(size.column, "'" + size.text + "' is not SIDE or SIDExDEPTH in " + side_range());
        read_rings();
    }
    void read_rings() {
        while (more()) {
            if (option("rings")) {
                step_.rings = static_cast<std::uint16_t>(count("rings", 0, 1000));
            } else if (!read_from()) {
                unexpected("rings or from");
            }
        }
    }
    void read_sight(int column) {
        if (names_.sight == nullptr) fail(column, "this world has no line of sight");
        Kernel& kernel = step_;
        const Combine combine = kernel.combine;
        kernel = names_.sight_def;
        kernel.combine = combine;
        kernel.type = KernelType::line_of_sight;
        kernel.rays = names_.sight;
        while (more()) {
            if (option("within")) {
                kernel.enter = meters("within");
            } else if (option("tests")) {
                kernel.ray_entities_per_tick = count("tests", 1, 10'000);
            } else if (option("grace")) {
                kernel.ray_valid_ticks = count("grace", 2, 1'000'000);
            } else if (option("unknown")) {
                kernel.visible_when_unknown = choose("unknown", shown_words);
            } else if (option("predict")) {
                kernel.predicts_sight = choose("predict", yes_words);
            } else if (!read_from()) {
                unexpected("within, from, tests, grace, unknown or predict");
            }
        }
    }
    void read_custom() {
        step_.type = KernelType::custom;
        step_.custom = name("kernel", names_.kernels);
        if (more()) unexpected(nullptr);
    }
    bool read_from() {
        if (!option("from")) return false;
        step_.view_from = choose("from", origins);
        return true;
    }

    bool more() const { return next_ < words_.size(); }
    const Word& word(const char* after, const std::string& what) {
        if (!more()) fail(end_column_, std::string(after) + " must be followed by " + what);
        return words_[next_++];
    }
    bool option(const char* name) {
        if (words_[next_].quoted || words_[next_].text != name) return false;
        if (!described_.insert(name).second)
            fail(words_[next_].column, std::string("'") + name + "' is given twice");
        ++next_;
        return true;
    }
    [[noreturn]] void unexpected(const char* expected) {
        const Word& word = words_[next_];
        fail(word.column,
             "'" + word.text + "' is " +
                 (expected == nullptr ? "an unexpected word" : "not " + std::string(expected)));
    }
    static std::string meters_range() {
        return "meters, above 0 and at most " + text_of(rule_meters_max);
    }
    static std::string side_range() {
        return "meters, " + text_of(rule_side_min_m) + " to " + text_of(rule_meters_max);
    }
    float meters(const char* after) {
        const Word& given = word(after, "meters");
        float value = 0;
        if (given.quoted || !read_meters(given.text, value))
            fail(given.column, "'" + given.text + "' is not a number of " + meters_range());
        return value;
    }
    float number(const char* after) {
        const Word& given = word(after, "a number");
        float value = 0;
        if (given.quoted || !read_number(given.text, value) || !std::isfinite(value))
            fail(given.column, "'" + given.text + "' is not a number");
        return value;
    }
    std::uint32_t count(const char* after, std::uint32_t min, std::uint32_t max) {
        const std::string what =
            "a whole number, " + std::to_string(min) + " to " + std::to_string(max);
        const Word& given = word(after, what);
        std::uint32_t value = 0;
        if (given.quoted || !read_number(given.text, value) || value < min || value > max)
            fail(given.column, "'" + given.text + "' is not " + what);
        return value;
    }
    template <class T, std::size_t n>
    T choose(const char* after, const Named<T> (&list)[n]) {
        const Word& given = word(after, all_of(list));
        const T* value = given.quoted ? nullptr : find_named(list, given.text);
        if (value == nullptr) fail(given.column, "'" + given.text + "' is not " + all_of(list));
        return *value;
    }
    template <class Id>
    Id name(const char* what, const std::map<std::string, Id>& names) {
        const Word& given = word(what, "its name");
        const auto found = names.find(given.text);
        if (found == names.end()) {
            fail(given.column,
                 "no " + std::string(what) + " '" + given.text + "'" + names_in(names));
        }
        return found->second;
    }

    const RuleNames& names_;
    std::vector<Word> words_;
    int end_column_;
    std::size_t next_ = 0;
    std::set<std::string> described_;
    Kernel step_;
};

std::string from_text(Viewpoints from) {
    return from == Viewpoints::entity_and_points ? "" : " from " + name_in(origins, from);
}

std::string print_kernel(const Kernel& kernel, const RuleNames& names) {
    const auto leave = [](float meters) { return " leave " + text_of(meters); };
    switch (kernel.type) {
        case KernelType::distance: {
            std::string text = "within " + text_of(kernel.enter);
            if (kernel.leave > kernel.enter) text += leave(kernel.leave);
            if (kernel.range != RangeFrom::kernel)
                text += " of " + name_in(range_names, kernel.range);
            return text + from_text(kernel.view_from);
        }
        case KernelType::same_key:
            return "same " + name_of(names.keys, kernel.key);
        case KernelType::flag:
            return "flag " + name_of(names.flags, kernel.flag);
        case KernelType::custom:
            return "kernel " + name_of(names.kernels, kernel.custom);
        case KernelType::area:
            return kernel.leave > 0 ? "area" + leave(kernel.leave) : "area";
        case KernelType::owner:
            return "owner";
        case KernelType::value: {
            std::string text = "value " + name_of(names.values, kernel.value);
            if (std::isfinite(kernel.min)) text += " from " + text_of(kernel.min);
            if (std::isfinite(kernel.max)) text += " to " + text_of(kernel.max);
            return text;
        }
        case KernelType::cells: {
            std::string text =
                "neighborhood " + text_of(kernel.cell_size.x) + "x" + text_of(kernel.cell_size.y);
            if (kernel.cell_size.z > 0) text += "x" + text_of(kernel.cell_size.z);
            return text + " rings " + std::to_string(kernel.rings) + from_text(kernel.view_from);
        }
        case KernelType::hexagons: {
            std::string text = "hexagons " + text_of(kernel.cell_size.x);
            if (kernel.cell_size.z > 0) text += "x" + text_of(kernel.cell_size.z);
            return text + " rings " + std::to_string(kernel.rings) + from_text(kernel.view_from);
        }
        case KernelType::line_of_sight: {
            const Kernel& usual = names.sight_def;
            std::string text = "sight";
            if (kernel.enter > 0) text += " within " + text_of(kernel.enter);
            text += from_text(kernel.view_from);
            if (kernel.ray_entities_per_tick != usual.ray_entities_per_tick)
                text += " tests " + std::to_string(kernel.ray_entities_per_tick);
            if (kernel.ray_valid_ticks != usual.ray_valid_ticks)
                text += " grace " + std::to_string(kernel.ray_valid_ticks);
            if (kernel.visible_when_unknown != usual.visible_when_unknown)
                text += " unknown " + name_in(shown_words, kernel.visible_when_unknown);
            if (kernel.predicts_sight != usual.predicts_sight)
                text += " predict " + name_in(yes_words, kernel.predicts_sight);
            return text;
        }
        case KernelType::everything:
            return "everything";
    }
    return "?";
}

// -- nodes ---------------------------------------------------------------------------------------

template <class T, std::size_t n>
void read_choice(const char* key, const std::optional<std::string>& text, const Named<T> (&list)[n],
                 T& out) {
    if (!text) return;
    const T* value = find_named(list, *text);
    if (value == nullptr)
        fail_key(key, "'" + *text + "' is not " + all_of(list), text->empty() ? 0 : 1);
    out = *value;
}

template <class T>
void read_within_limits(const char* key, const std::optional<T>& given, T min, T max, T& out) {
    if (!given) return;
    if (!(*given >= min) || !(*given <= max)) {
        const auto text = [](T value) {
            if constexpr (std::is_same_v<T, float>) {
                return text_of(value);
            } else {
                return std::to_string(value);
            }
        };
        fail_key(key, std::string("'") + key + "' must be " + text(min) + " to " + text(max));
    }
    out = *given;
}

void read_refresh(const std::string& text, NodeDef& node) {
    std::vector<Word> words;
    try {
        words = words_of(text);
    } catch (const Problem& problem) {
        fail_key("refresh", problem.text, problem.column);
    }
    constexpr const char* forms = "exact, every N or dormant";
    if (words.empty()) fail_key("refresh", std::string("must be ") + forms);
    const std::string& first = words[0].text;
    std::size_t used = 1;
    std::uint32_t ticks = 1;
    if (first == "exact") {
        node.dormant = false;
    } else if (first == "dormant") {
        node.dormant = true;
    } else if (first == "every") {
        node.dormant = false;
        used = 2;
        if (words.size() < 2) {
            fail_key("refresh", "every must be followed by a number of ticks",
                     1 + characters_of(text));
        }
        if (!read_number(words[1].text, ticks) || ticks < 1 || ticks > 10'000) {
            fail_key("refresh", "'" + words[1].text + "' is not a number of ticks, 1 to 10000",
                     words[1].column);
        }
    } else {
        fail_key("refresh", "'" + first + "' is not " + forms, words[0].column);
    }
    if (words.size() > used) {
        fail_key("refresh", "'" + words[used].text + "' is an unexpected word", words[used].column);
    }
    node.every_ticks = ticks;
}

void read_type(const NodeText& text, NodeDef& node) {
    const NodeSource before = source_of(node);
    NodeSource source = before;
    read_choice("type", text.type, node_types, source);
    if (source != NodeSource::steps && source != before) {
        fail_key("type",
                 "a node of type " + *text.type +
                     " is created by the program's code: it can be kept, but not created here",
                 1);
    }
    if (source != NodeSource::dispatcher) node.dispatcher = nullptr;
    if (source != NodeSource::custom) node.custom = nullptr;
}

/// The text of a step does not contain its ray test. The n-th line-of-sight step keeps the ray test
/// of the previous n-th one.
void keep_sights(const NodeDef& before, NodeDef& node) {
    const auto is_sight = [](const Kernel& step) { return step.type == KernelType::line_of_sight; };
    auto was = std::find_if(before.steps.begin(), before.steps.end(), is_sight);
    for (Kernel& step : node.steps) {
        if (!is_sight(step) || was == before.steps.end()) continue;
        step.rays = was->rays;
        was = std::find_if(was + 1, before.steps.end(), is_sight);
    }
}

NodeDef read_node(const NodeText& text, const RuleNames& names, const NodeDef* before) {
    NodeDef node;
    if (before != nullptr) node = *before;
    node.name = text.name;
    if (text.name.empty() || text.name.size() > node_name_bytes_max) {
        fail_key("name",
                 "a node's name must have 1 to " + std::to_string(node_name_bytes_max) + " bytes");
    }
    if (plain_text(text.name) != text.name)
        fail_key("name", "a node's name must not contain control characters, such as line breaks");
    read_type(text, node);
    read_choice("members", text.members, node_members, node.members);
    read_choice("combine", text.combine, ops, node.combine);
    if (text.refresh) read_refresh(*text.refresh, node);
    read_within_limits("widen_m", text.widen, 0.0F, rule_meters_max, node.widen);
    node.lazy_leave = text.lazy_leave.value_or(node.lazy_leave);
    if (node.every_ticks <= 1) {
        if (text.widen.value_or(0) != 0)
            fail_key("widen_m", "'widen_m' requires the refresh 'every N'");
        if (text.lazy_leave.value_or(false))
            fail_key("lazy_leave", "'lazy_leave' requires the refresh 'every N'");
        node.widen = 0;
        node.lazy_leave = false;
    }
    node.enabled = text.enabled.value_or(node.enabled);
    read_within_limits("priority", text.priority, 0.001F, 1000.0F, node.replication.priority);
    read_within_limits<std::uint32_t>("every_ticks", text.every_ticks, 1, 10'000,
                                      node.replication.every_ticks);
    read_choice("leave", text.leave, leave_policies, node.replication.leave);
    read_choice("mode", text.mode, node_modes, node.payload);
    node.steps.clear();
    if (text.steps.size() > node_steps_max) {
        fail_key("steps", "the node has " + std::to_string(text.steps.size()) +
                              " steps; the limit is " + std::to_string(node_steps_max));
    }
    for (std::size_t s = 0; s < text.steps.size(); ++s) {
        auto step = parse_step(text.steps[s], names);
        if (!step) {
            Problem problem = step.what();
            problem.step = static_cast<int>(s);
            throw problem;
        }
        node.steps.push_back(std::move(*step));
    }
    if (before != nullptr) keep_sights(*before, node);
    return node;
}

/// Locates a problem that the engine reports, by validating the nodes and steps individually.
std::optional<Problem> refused_by_engine(const Rules& rules) {
    const std::string all = problem_of_structure(rules);
    if (all.empty()) return std::nullopt;
    Problem problem;
    problem.text = all;
    Rules less = rules;
    less.nodes.clear();
    if (const std::string wrong = problem_of_structure(less); !wrong.empty()) return problem;
    for (std::size_t n = 0; n < rules.nodes.size(); ++n) {
        less.nodes.assign(1, rules.nodes[n]);
        less.nodes[0].combine = Combine::add;
        if (const std::string wrong = problem_of_structure(less); wrong.empty()) continue;
        problem.node = static_cast<int>(n);
        for (std::size_t s = 0; s <= rules.nodes[n].steps.size(); ++s) {
            less.nodes[0].steps.assign(
                rules.nodes[n].steps.begin(),
                rules.nodes[n].steps.begin() + static_cast<std::ptrdiff_t>(s));
            const std::string wrong = problem_of_structure(less);
            if (wrong.empty()) continue;
            problem.text = wrong;
            problem.step = static_cast<int>(s) - 1;  // -1: the node itself, not one of its steps
            return problem;
        }
        return problem;
    }
    return problem;
}

std::string toml_text(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += std::string("\\") + c;
        } else if (byte < 0x20 || byte == 0x7f) {
            constexpr const char* digits = "0123456789abcdef";
            out += std::string("\\u00") + digits[byte >> 4U] + digits[byte & 15U];
        } else {
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace

std::string plain_text(std::string_view text, std::string_view kept) {
    constexpr const char* digits = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        const bool upper = byte == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009f
        if (!upper && ((byte >= 0x20 && byte != 0x7f) || kept.find(text[i]) != kept.npos)) {
            out += text[i];
            continue;
        }
        if (upper) byte = static_cast<unsigned char>(text[++i]);
        out += std::string("\\u00") + digits[byte >> 4U] + digits[byte & 15U];
    }
    return out;
}

RuleNames names_of(const Schema& schema) {
    RuleNames names;
    const auto flags = schema.flags(), keys = schema.keys(), values = schema.values();
    for (std::size_t i = 0; i < flags.size(); ++i) names.flags[flags[i].name] = id_at<FlagId>(i);
    for (std::size_t i = 0; i < keys.size(); ++i) names.keys[keys[i].name] = id_at<KeyId>(i);
    for (std::size_t i = 0; i < values.size(); ++i)
        names.values[values[i].name] = id_at<ValueId>(i);
    return names;
}

Loaded<Kernel> parse_step(const std::string& text, const RuleNames& names) {
    Problem problem;
    if (text.size() > step_bytes_max) {
        problem.text = "the step has " + std::to_string(text.size()) + " bytes; the limit is " +
                       std::to_string(step_bytes_max);
        return problem;
    }
    try {
        return StepReader(text, names).read();
    } catch (const Problem& wrong) {
        return wrong;
    }
}

std::string print_step(const Kernel& step, const RuleNames& names) {
    return name_in(ops, step.combine) + " " + print_kernel(step, names);
}

Loaded<NodeDef> compile_node(const NodeText& text, const RuleNames& names, const NodeDef* before) {
    try {
        return read_node(text, names, before);
    } catch (const Problem& wrong) {
        return wrong;
    }
}

NodeText print_node(const NodeDef& node, const RuleNames& names) {
    NodeText text;
    text.name = node.name;
    text.type = name_in(node_types, source_of(node));
    text.members = name_in(node_members, node.members);
    text.combine = name_in(ops, node.combine);
    text.refresh = node.dormant            ? "dormant"
                   : node.every_ticks <= 1 ? "exact"
                                           : "every " + std::to_string(node.every_ticks);
    text.widen = node.widen;
    text.lazy_leave = node.lazy_leave;
    text.enabled = node.enabled;
    text.priority = node.replication.priority;
    text.every_ticks = node.replication.every_ticks;
    text.leave = name_in(leave_policies, node.replication.leave);
    text.mode = name_in(node_modes, node.payload);
    for (const Kernel& step : node.steps) text.steps.push_back(print_step(step, names));
    return text;
}

Loaded<Rules> compile_nodes(const std::vector<NodeText>& nodes, const RuleNames& names,
                            const Rules& around, bool keep) {
    Problem problem;
    if (nodes.size() > rule_nodes_max) {
        problem.text = "there are " + std::to_string(nodes.size()) + " nodes; the limit is " +
                       std::to_string(rule_nodes_max);
        return problem;
    }
    Rules rules = around;
    rules.nodes.clear();
    std::set<std::string> seen;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const NodeDef* before = nullptr;
        for (const NodeDef& node : around.nodes) {
            if (keep && before == nullptr && node.name == nodes[n].name) before = &node;
        }
        auto node = compile_node(nodes[n], names, before);
        if (!node) {
            problem = node.what();
            problem.node = static_cast<int>(n);
            return problem;
        }
        if (!seen.insert(nodes[n].name).second) {
            problem.text = "two nodes are called '" + nodes[n].name + "'";
            problem.node = static_cast<int>(n);
            problem.key = "name";
            return problem;
        }
        rules.nodes.push_back(std::move(*node));
    }
    if (auto wrong = refused_by_engine(rules)) return *wrong;
    return rules;
}

NodeText with_defaults(NodeText text) {
    NodeDef usual;
    NodeText out = print_node(usual, {});
    out.name = std::move(text.name);
    out.steps = std::move(text.steps);
    const auto take = [](auto& to, auto& from) {
        if (from) to = std::move(from);
    };
    take(out.type, text.type);
    take(out.members, text.members);
    take(out.combine, text.combine);
    take(out.refresh, text.refresh);
    take(out.widen, text.widen);
    take(out.lazy_leave, text.lazy_leave);
    take(out.enabled, text.enabled);
    take(out.priority, text.priority);
    take(out.every_ticks, text.every_ticks);
    take(out.leave, text.leave);
    take(out.mode, text.mode);
    return out;
}

std::string print_toml(const std::vector<NodeText>& nodes) {
    std::string out = "[interest]\n";
    for (const NodeText& node : nodes) {
        out += "\n[[interest.node]]\nname = " + toml_text(node.name) + "\n";
        const auto describe = [&](const char* key, const auto& given, const auto& usual) {
            using Value = std::decay_t<decltype(*given)>;
            if (!given || *given == usual) return;
            out += std::string(key) + " = ";
            if constexpr (std::is_same_v<Value, std::string>) {
                out += toml_text(*given);
            } else if constexpr (std::is_same_v<Value, bool>) {
                out += *given ? "true" : "false";
            } else if constexpr (std::is_same_v<Value, float>) {
                out += text_of(*given);
            } else {
                out += std::to_string(*given);
            }
            out += "\n";
        };
        describe("type", node.type, "grid");
        describe("members", node.members, "all");
        describe("combine", node.combine, "add");
        describe("refresh", node.refresh, "exact");
        describe("widen_m", node.widen, 0.0F);
        describe("lazy_leave", node.lazy_leave, false);
        describe("enabled", node.enabled, true);
        describe("priority", node.priority, 1.0F);
        describe("every_ticks", node.every_ticks, 1U);
        describe("leave", node.leave, "despawn");
        describe("mode", node.mode, "per observer");
        out += "steps = [";
        for (std::size_t s = 0; s < node.steps.size(); ++s)
            out += (s == 0 ? "" : ", ") + toml_text(node.steps[s]);
        out += "]\n";
    }
    return out;
}

}  // namespace purview::scene

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "purview/limits.hpp"
#include "record/replay.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

using record::ReplayResult;

constexpr std::uint64_t seed = 5;

/// 35 ticks of a small world with three clients, the last five at rest, and its end.
std::string record_some(std::uint32_t strangers = 0) {
    Faults faults;
    faults.loss = 0.1F;
    SmallWorld world(seed, faults);
    for (int i = 0; i < 3; ++i) world.add_client();
    std::stringstream file;
    record::Beginning beginning;
    beginning.program = "test";
    beginning.world_name = "small";
    beginning.schema_hash = world.schema.schema.hash();
    beginning.secret = world.def.secret;
    beginning.options["seed"] = "5";
    record::Writer writer(file, beginning);
    world.border->record_to(&writer, 3);
    world.run(20);
    Address stranger;
    stranger.carrier = Address::Carrier::udp;
    for (std::uint32_t i = 0; i < strangers; ++i) {
        stranger.channel = i;
        world.border->receive(std::array<std::byte, 1>{}, stranger, world.now);
        CHECK(world.border->address_count() <= 16'384);
    }
    world.run(10);
    world.border->note("freeze");
    world.game.frozen = true;
    world.run(5);
    world.border->shut_down();
    OutgoingDatagram out;
    while (world.border->next_datagram(out)) {
    }
    CHECK(writer.finish());
    return file.str();
}

ReplayResult replay(const std::string& bytes, std::uint64_t world_seed = seed,
                    const std::function<void(Server&)>& after_tick = {}) {
    std::stringstream file(bytes);
    record::Reader reader(file);
    if (!reader.begin()) return {ReplayResult::Outcome::bad_file, reader.problem()};
    SmallWorld world(world_seed, {});
    const auto on_note = [&](std::string_view note) {
        if (note != "freeze") return std::string("an unknown note");
        world.game.frozen = true;
        return std::string();
    };
    return record::replay(reader, *world.server, on_note, [&] {
        if (after_tick) after_tick(*world.server);
    });
}

/// A chunk as it stands in a file.
std::string chunk(unsigned type, std::uint32_t size, const std::string& body) {
    record::Bytes bytes;
    bytes.number(type, 1).number(size, 4).text(body);
    return {reinterpret_cast<const char*>(bytes.view().data()), bytes.view().size()};
}

/// A recording up to the first chunk behind its beginning.
std::string beginning_of(const std::string& file) {
    std::uint32_t size = 0;
    for (unsigned i = 0; i < 4; ++i)
        size |= std::uint32_t{static_cast<unsigned char>(file[7 + i])} << (8 * i);
    return file.substr(0, 11 + size);
}

}  // namespace

TEST_CASE("record: what was recorded is lived again, byte by byte and state by state") {
    const ReplayResult result = replay(record_some());
    CHECK(result.text == "");
    CHECK(result.outcome == ReplayResult::Outcome::same);
    CHECK(result.ticks == 35);
    CHECK(result.sent > 60);
    CHECK(result.received > 60);
    CHECK(result.states == 12);
}

TEST_CASE("record: what a program does after every tick it does in a replay") {
    std::vector<Tick> ticks;
    const ReplayResult result = replay(
        record_some(), seed, [&](const Server& server) { ticks.push_back(server.current_tick()); });
    CHECK(result.outcome == ReplayResult::Outcome::same);
    REQUIRE(ticks.size() == result.ticks);
    for (std::size_t i = 0; i < ticks.size(); ++i) CHECK(ticks[i] == i + 1);
}

TEST_CASE("record: strangers from forty thousand addresses are not kept, and lived again") {
    const ReplayResult result = replay(record_some(40'000));
    CHECK(result.outcome == ReplayResult::Outcome::same);
    CHECK(result.received > 40'000);
}

TEST_CASE("record: the beginning comes back as it was written") {
    std::stringstream file(record_some());
    record::Reader reader(file);
    const auto beginning = reader.begin();
    REQUIRE(beginning);
    CHECK(beginning->program == "test");
    CHECK(beginning->world_name == "small");
    CHECK(beginning->secret[0] == std::byte{42});
    CHECK(beginning->options.at("seed") == "5");
}

TEST_CASE("record: another world is another state before the first event") {
    const ReplayResult result = replay(record_some(), seed + 1);
    CHECK(result.outcome == ReplayResult::Outcome::differs);
    CHECK(result.text.find("tick 0: the state is another") == 0);
}

TEST_CASE("record: a recording that is cut short anywhere is a bad file") {
    const std::string whole = record_some();
    for (std::size_t size = 0; size < whole.size(); size += size < 300 ? 1 : 997) {
        const ReplayResult result = replay(whole.substr(0, size));
        REQUIRE(result.outcome == ReplayResult::Outcome::bad_file);
        REQUIRE(result.text.find("cut short") != std::string::npos);
    }
}

TEST_CASE("record: a file that cannot be written any more ends, and is told of once") {
    SmallWorld world(seed, {});
    world.add_client();
    std::stringstream file;
    record::Writer writer(file, {});
    world.border->record_to(&writer, 3);
    int told = 0;
    world.border->on_lost = [&] { ++told; };
    world.run(6);
    CHECK(told == 0);
    file.setstate(std::ios::badbit);
    world.run(20);
    CHECK(told == 1);
    CHECK(!world.border->is_recording());
    CHECK(!writer.finish());
}

TEST_CASE("record: a byte that is another is noticed, wherever it is") {
    const std::string whole = record_some();
    for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 1009) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 4);
        const ReplayResult result = replay(damaged);
        REQUIRE(result.outcome == ReplayResult::Outcome::bad_file);  // not a server that differs
        REQUIRE(result.text != "");
    }
}

TEST_CASE("record: lengths, types and bodies that cannot be are refused in words") {
    const std::string begin = beginning_of(record_some());
    const auto says = [&](const std::string& more, const std::string& what) {
        const ReplayResult result = replay(begin + more);
        CHECK(result.outcome == ReplayResult::Outcome::bad_file);
        CHECK_MESSAGE(result.text.find(what) != std::string::npos, result.text);
    };
    says("", "cut short");
    says(chunk(4, 0xffffffffU, ""), "too large");
    says(chunk(4, record::chunk_bytes_max, "short"), "cut short");
    says(chunk(0, 0, ""), "unknown type");
    says(chunk(13, 0, ""), "unknown type");
    says(chunk(4, 3, "abc"), "malformed");
    says(chunk(2, 22, std::string(22, '\0')), "malformed");
    says(chunk(3, 12, std::string(12, '\0')), "malformed");  // nobody has address 0
    says(chunk(5, 4, std::string(4, '\7')), "malformed");
    says(chunk(7, 11, std::string(11, '\0')), "malformed");
    says(chunk(8, 4, std::string(4, '\0')), "malformed");
    says(chunk(1, 0, ""), "malformed");
    says(chunk(11, 3, "huh"), "unknown note");
    says(chunk(12, 4, "abcd"), "checksum");
    CHECK(replay("PVR").text.find("cut short") != std::string::npos);
    CHECK(replay(std::string("PVWR\1\0", 6)).text.find("not a recording") != std::string::npos);
    CHECK(replay(std::string("PVRC\2\0", 6)).text.find("of version 2, not 1") != std::string::npos);
    std::string other = begin;
    other[11] = other[12] = 1;
    CHECK(replay(other).text.find("of protocol version 257, not " +
                                  std::to_string(limits::protocol_version)) != std::string::npos);
    CHECK(replay(record_some() + "x").text.find("behind the end") != std::string::npos);
}

TEST_CASE("record: an event that is missing makes another history") {
    const std::string whole = record_some();
    const auto without_first = [&](unsigned drop_type) {
        std::string out = beginning_of(whole);
        bool dropped = false;
        for (std::size_t at = out.size(); at < whole.size();) {
            std::uint32_t size = 0;
            for (unsigned i = 0; i < 4; ++i)
                size |= std::uint32_t{static_cast<unsigned char>(whole[at + 1 + i])} << (8 * i);
            const bool drop = !dropped && static_cast<unsigned char>(whole[at]) == drop_type;
            if (!drop) out += whole.substr(at, 5 + size);
            dropped = dropped || drop;
            at += 5 + size;
        }
        // With the checksum of what is left: the file is whole.
        constexpr std::size_t end_bytes = 5 + 4;
        const std::size_t end = out.size() - end_bytes;
        const std::uint32_t crc = record::crc32(0, std::as_bytes(std::span(out.data(), end)));
        for (unsigned i = 0; i < 4; ++i) out[end + 5 + i] = static_cast<char>(crc >> (8 * i));
        return replay(out);
    };
    CHECK(without_first(5).outcome == ReplayResult::Outcome::differs);  // sent
    CHECK(without_first(3).outcome == ReplayResult::Outcome::differs);  // received
    CHECK(without_first(4).outcome == ReplayResult::Outcome::differs);  // tick
}

TEST_CASE(
    "record: the file of before is kept, and so are four of them; one that cannot be is left") {
    namespace fs = std::filesystem;
    const fs::path position =
        fs::temp_directory_path() / ("purview_keep_" + std::to_string(getpid()));
    fs::create_directory(position);
    const std::string path = (position / "a.pvrec").string();
    const auto text_in = [&](const std::string& name) {
        std::stringstream text;
        text << std::ifstream(name).rdbuf();
        return text.str();
    };
    std::error_code error;
    CHECK_FALSE(record::keep_old(path, error));
    for (int run = 1; run <= 7; ++run) {
        std::ofstream(path) << "run " << run;
        CHECK(record::keep_old(path, error));
        CHECK_FALSE(fs::exists(path));
        for (int back = 1; back <= std::min(run, 4); ++back)
            CHECK(text_in(path + "." + std::to_string(back)) ==
                  "run " + std::to_string(run + 1 - back));
    }
    CHECK_FALSE(fs::exists(path + ".5"));
    std::ofstream(path).flush();  // nothing in it
    CHECK_FALSE(record::keep_old(path, error));
    CHECK_FALSE(record::keep_old("/dev/null", error));
    CHECK_FALSE(error);
    // A name that can get no longer.
    const std::string longest = (position / std::string(255, 'a')).string();
    std::ofstream(longest) << "run 0";
    CHECK_FALSE(record::keep_old(longest, error));
    CHECK(error == std::errc::filename_too_long);
    CHECK(text_in(longest) == "run 0");
    fs::remove_all(position);
}

}  // namespace purview::test

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A recording contains the secret key of its run, so only its owner may read it. Peers must not be
// able to predict how its addresses are stored in memory.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/hash.hpp"
#include "record/io_recorder.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

std::uint64_t calls_of_mac = 0;

void counting_mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
                  std::span<std::byte, 16> out) {
    ++calls_of_mac;
    test_mac(key, data, out);
}

}  // namespace

TEST_CASE("recording: only its owner can read or write the file, even if it existed") {
    const std::filesystem::path directory =
        std::filesystem::temp_directory_path() / ("purview-private-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    const mode_t before = ::umask(0);
    const auto mode_of = [&](const char* name) {
        struct stat seen {};
        REQUIRE(::stat((directory / name).c_str(), &seen) == 0);
        return seen.st_mode & 0777;
    };
    {
        std::ofstream out;
        CHECK(record::open_private(directory / "new", out));
        out << "key" << std::flush;
        CHECK(mode_of("new") == 0600);
    }
    {
        std::ofstream(directory / "old") << "an older one";
        REQUIRE(::chmod((directory / "old").c_str(), 0644) == 0);
        std::ofstream out;
        CHECK(record::open_private(directory / "old", out));
        CHECK(mode_of("old") == 0600);
        CHECK(std::filesystem::file_size(directory / "old") == 0);
    }
    ::umask(before);
    std::ofstream out;
    CHECK_FALSE(record::open_private(directory / "missing" / "file", out));
    std::ofstream device;
    CHECK(record::open_private("/dev/null", device));
    std::filesystem::remove_all(directory);
}

TEST_CASE("recording: addresses are stored by a hash keyed with the server's secret") {
    SmallSchema schema;
    SmallGame game(schema, 1);
    ServerDef def;
    def.schema = &schema.schema;
    def.plain.udp = true;
    def.mac = &counting_mac;
    def.secret = test_secret;
    Server server = std::move(*Server::create(def, game));
    std::stringstream file;
    record::Beginning beginning;
    beginning.schema_hash = schema.schema.hash();
    beginning.secret = def.secret;
    record::Writer writer(file, beginning);
    record::IoRecorder recorder(server);
    recorder.record_to(&writer, 1'000);
    calls_of_mac = 0;
    Address from;
    from.carrier = Address::Carrier::udp;
    for (std::uint16_t port = 1; port <= 100; ++port) {
        from.port = port;
        recorder.receive(std::array<std::byte, 1>{}, from, 1'000'000);
    }
    CHECK(calls_of_mac >= 100);
    CHECK(recorder.address_count() == 100);
}

}  // namespace purview::test

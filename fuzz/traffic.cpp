// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "traffic.hpp"

#include <algorithm>
#include <sstream>

#include "client/replica.hpp"
#include "idle_game.hpp"
#include "link/handshake.hpp"
#include "link/messages.hpp"
#include "link/packet_link.hpp"
#include "link/stream.hpp"
#include "protocol/rpc_inbox.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/client.hpp"
#include "purview/limits.hpp"
#include "record/io_recorder.hpp"
#include "record/recording.hpp"
#include "require.hpp"

namespace purview::test {

namespace {

using Bytes = std::span<const std::byte>;

/// Packets must fit a one-byte size.
constexpr std::uint32_t budget_bytes = 250;
constexpr std::uint32_t ticks = 100;
constexpr SmallScale scale{4, 20, 2, 6, 0, 1, true, true};

/// In these ticks the client receives nothing.
bool is_dark(std::uint32_t tick) {
    return tick % 8 == 7;
}

std::string text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The rest of the reader's bits, aligned to a byte.
std::string remainder_of(BitReader in) {
    std::vector<std::byte> bytes(limits::datagram_bytes);
    BitWriter out(bytes);
    while (in.bits_left() > 0) out.bits(in.bits(1), 1);
    return text_of(out.written());
}

/// One end of a connection, with the state that is needed to find the content of packets.
struct End {
    PacketLink link;
    StreamReceiver stream;
    std::vector<DeliveryNotice> notices;

    /// Acknowledgements are only accepted for packets that this end has sent.
    void note_sent() {
        std::array<std::byte, 256> bytes;
        BitWriter out(bytes);
        (void)link.write_header(out);
    }
    /// Reads a packet after the header checksum and connection id. Calls visit(message) for each
    /// message. Returns false if the packet contains nothing else.
    template <class Visit>
    bool read(BitReader& in, Visit&& visit) {
        if (link.read_header(in) != PacketLink::Verdict::accepted || !stream.read(in)) return false;
        notices.clear();
        link.accept(notices);
        stream.accept();
        Bytes message;
        while (stream.next_message(message)) visit(message);
        return true;
    }
};

class Cutter {
  public:
    explicit Cutter(Traffic& to) : to_(&to), replica_(schema_.schema) {}

    void sent(Bytes datagram, bool arrives) {
        if (is_handshake(datagram)) return to_->handshakes.push_back(text_of(datagram));
        BitReader in(datagram);
        (void)in.bits(seal_bytes * 8);
        to_->links.push_back(text_of(datagram.subspan(seal_bytes)));
        server_.note_sent();
        if (!arrives || !client_.read(in, [&](Bytes message) { message_arrived(message); })) return;
        if (in.boolean()) {
            to_->snapshots.push_back(remainder_of(in));
            require(replica_.decoder.read(in), "a snapshot that the client would reject");
            replica_.accept(newest_);
        }
        to_->calls.push_back(remainder_of(in));
    }
    void received(Bytes datagram) {
        if (is_handshake(datagram)) return to_->handshakes.push_back(text_of(datagram));
        BitReader in(datagram);
        (void)in.bits(seal_bytes * 8);
        (void)in.u64();  // connection id
        client_.note_sent();
        if (!server_.read(in, [](Bytes) {})) return;
        if (in.boolean()) (void)in.u64();  // digest
        const std::uint64_t commands = in.varint_max(255);
        if (commands > 0) (void)in.u16();
        for (std::uint64_t i = 0; i < commands; ++i) (void)in.bytes(in.u8());
        to_->client_calls.push_back(remainder_of(in));
        if (!calls_.read(schema_.schema, RpcDirection::to_server, in)) return;
        if (in.bits_left() > 0 && in.boolean()) to_->inputs.push_back(remainder_of(in));
    }

  private:
    void message_arrived(Bytes message) {
        if (static_cast<ServerMessage>(message[0]) == ServerMessage::correction)
            to_->corrections.push_back(text_of(message.subspan(1)));
    }
    static bool is_handshake(Bytes datagram) {
        return static_cast<PacketType>(datagram[0]) != PacketType::data;
    }
    Traffic* to_;
    SmallSchema schema_ = schema_of_traffic();
    Replica replica_;
    RpcInbox calls_;
    Tick newest_ = 0;
    End client_, server_;
};

/// Calls visit(sent or received, address, number of begun ticks, datagram) for each datagram of a
/// recording.
template <class Visit>
void for_each_datagram(std::istream& file, Visit&& visit) {
    using record::ChunkType;
    record::Reader reader(file);
    require(reader.begin().has_value(), "a recording with a malformed beginning");
    record::Chunk chunk;
    std::uint32_t tick = 0;
    while (reader.next(chunk)) {
        tick += chunk.type == ChunkType::tick ? 1 : 0;
        if (chunk.type != ChunkType::received && chunk.type != ChunkType::sent) continue;
        record::Fields fields(chunk.body);
        if (chunk.type == ChunkType::received) (void)fields.number(8);  // time
        const std::uint64_t address = fields.number(4);
        visit(chunk.type, address, tick, fields.rest());
    }
    require(reader.problem().empty(), "a malformed recording");
}

record::Beginning beginning_of(const SmallWorld& world) {
    record::Beginning beginning;
    beginning.program = "fuzz";
    beginning.schema_hash = world.schema.schema.hash();
    beginning.secret = world.def.secret;
    return beginning;
}

}  // namespace

std::string current_recording() {
    std::stringstream file;
    const SmallSchema schema;
    IdleGame game;
    ServerDef def;
    def.schema = &schema.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    Server server = std::move(*Server::create(def, game));
    record::Beginning beginning;
    beginning.schema_hash = schema.schema.hash();
    beginning.secret = def.secret;
    record::Writer writer(file, beginning);
    record::IoRecorder recorder(server);
    recorder.record_to(&writer, 4);
    ClientDef client_def;
    client_def.nonce = 5;
    Client client(client_def);
    Address address;
    address.carrier = Address::Carrier::memory;
    address.port = 1;
    for (Micros now = 1'000'000; now < 1'600'000; now += 50'000) {
        client.tick(now);
        Bytes up;
        while (client.next_datagram(up)) recorder.receive(up, address, now);
        recorder.tick(now);
        OutgoingDatagram down;
        while (recorder.next_datagram(down)) client.receive(down.bytes, now);
    }
    require(client.state() == ClientState::joined, "the client did not join");
    require(writer.finish(), "the recording was not written");
    return file.str();
}

SmallSchema schema_of_traffic() {
    return SmallSchema(scale.books > 0, scale.carts > 0);
}

Traffic current_traffic() {
    Traffic traffic;
    std::stringstream file;
    {
        SmallWorld world(21, {}, budget_bytes, scale);
        record::Writer writer(file, beginning_of(world));
        world.recorder->record_to(&writer, 8);
        world.add_client();
        world.make_calls(3);
        for (std::uint32_t tick = 0; tick < ticks; ++tick) {
            world.clients.front()->down->blackout = is_dark(tick);
            world.step();
        }
        require(world.joined_count() == 1, "the client did not join");
        const auto closed =
            world.server->close(world.clients.front()->observer, CloseReason::kicked, "bye");
        require(closed == Status::ok, "the client was not closed");
        world.run(1);
        require(writer.finish(), "the recording was not written");
        std::vector<std::byte> bytes(65'536);
        BitWriter out(bytes);
        write_schema(world.schema.schema, out);
        traffic.schema = text_of(out.written());
    }
    Cutter cutter(traffic);
    for_each_datagram(
        file, [&](record::ChunkType way, std::uint64_t, std::uint32_t tick, Bytes datagram) {
            way == record::ChunkType::sent ? cutter.sent(datagram, !is_dark(tick - 1))
                                           : cutter.received(datagram);
        });
    return traffic;
}

void join_all(SmallWorld& world) {
    for (std::uint32_t i = 0; i < ticks_to_join && world.joined_count() < world.clients.size(); ++i)
        world.step();
    require(world.joined_count() == world.clients.size(), "a client did not join");
    world.make_calls(3);
}

SentPackets sent_after_join(SmallWorld& world, std::uint32_t ticks_after) {
    std::stringstream file;
    record::Writer writer(file, beginning_of(world));
    world.recorder->record_to(&writer, 100);
    join_all(world);
    const Tick joined = world.server->current_tick();
    world.run(ticks_after);
    world.recorder->record_to(nullptr, 0);
    require(writer.finish(), "the recording was not written");
    SentPackets sent;
    const std::size_t last = world.clients.size() - 1;  // addresses have the same order
    for_each_datagram(file, [&](record::ChunkType way, std::uint64_t address, std::uint32_t tick,
                                Bytes datagram) {
        const bool is_sent = way == record::ChunkType::sent;
        if (address != last || tick < joined + (is_sent ? 1 : 0)) return;
        const std::size_t head = seal_bytes + (is_sent ? 0 : sizeof(std::uint64_t)) + 2;
        (is_sent ? sent.by_server : sent.by_client).push_back(text_of(datagram.subspan(head)));
    });
    return sent;
}

std::vector<std::string> client_messages() {
    StreamSender stream;
    PacketLink link;
    std::vector<std::string> packets;
    std::array<std::byte, join_bytes_max> bytes{};
    const auto submit = [&](auto&& write_message) {
        BitWriter out(bytes);
        write_message(out);
        (void)stream.send(out.written());
    };
    const auto send_packet = [&](bool arrives) {
        std::array<std::byte, limits::datagram_bytes> room{};
        BitWriter out(room);
        const std::uint32_t sequence = link.write_header(out);
        stream.write(sequence, 8 * 1'000, out);
        out.boolean(false);
        out.boolean(false);  // no digest
        out.varint(0);       // no inputs
        out.align();
        // The fuzz target adds the sequence number.
        packets.push_back(text_of(out.written().subspan(2)));
        stream.resolve(sequence, arrives);
    };
    // The join that the server has already received; later messages continue the stream.
    const std::string name = "someone";
    submit([&](BitWriter& out) { write(Join{Role::player, name, {}}, out); });
    send_packet(true);
    submit([](BitWriter& out) {
        out.u8(static_cast<std::uint8_t>(ClientMessage::game));
        out.u32(7);
    });
    submit([](BitWriter& out) {
        out.u8(static_cast<std::uint8_t>(ClientMessage::state));
        out.u64(1);
    });
    const std::vector<std::byte> credential(100, std::byte{9});
    submit([&](BitWriter& out) { write(Join{Role::spectator, name, credential}, out); });
    send_packet(false);                            // resent in the next packet
    for (const unsigned size : {5U, 33U, 255U}) {  // malformed joins
        submit([&](BitWriter& out) {
            out.u8(static_cast<std::uint8_t>(ClientMessage::join));
            out.u8(static_cast<std::uint8_t>(size % 4));
            out.u8(static_cast<std::uint8_t>(size));
            out.u16(static_cast<std::uint16_t>(size));
        });
        send_packet(false);
    }
    submit([](BitWriter& out) { out.u8(77); });
    send_packet(false);
    return packets;
}

std::string cut_by_bytes(const std::vector<std::string>& packets) {
    std::string cut;
    for (const std::string& packet : packets) {
        require(packet.size() <= 255, "a packet that exceeds its size field");
        cut += static_cast<char>(packet.size());
        cut += packet;
    }
    return cut;
}

std::string cut_by_words(const std::vector<std::string>& packets) {
    std::string cut;
    for (const std::string& packet : packets) {
        cut += static_cast<char>(packet.size() & 0xff);
        cut += static_cast<char>(packet.size() >> 8);
        cut += packet;
    }
    return cut;
}

}  // namespace purview::test

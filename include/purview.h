/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Purview authors
 */

/** @file
 * @ingroup api_c
 * The client for other languages, mainly as WebAssembly in a browser. Plain C99: an opaque handle,
 * numbers that fit a double, and buffers that the library owns. One thread per handle. Returned
 * pointers are valid until the next call with the same handle, unless noted.
 *
 * No call aborts. For a null client the results are 0, with these exceptions: the state is closed,
 * ids are all ones, texts are empty, other pointers are null, and pv_client_call_rotation returns
 * no rotation. A client that was refused or closed keeps its ghosts and its schema, and receives
 * nothing more, not even leaves.
 */
#ifndef PURVIEW_H
#define PURVIEW_H

#include <stddef.h>
#include <stdint.h>

#include "purview/version.h"

/** @ingroup api_c
 * Exports the functions from a shared library that contains this static library
 * (docs/your-server.md). */
#if defined(__GNUC__)
#define PV_API __attribute__((visibility("default")))
#else
#define PV_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup api_c
 * @{ */

/** The id of no ghost. */
#define PV_NO_GHOST 0xffffffffu
/** The number of no cell. */
#define PV_NO_CELL 0xffffffffu

/** A client: an opaque handle. */
typedef struct pv_client pv_client;

/** A ghost to draw. 32 bytes. */
typedef struct pv_instance {
    float x,          /**< position at the requested tick, in world units */
        y,            /**< as x */
        z;            /**< as x */
    uint32_t ghost;   /**< its id on this connection */
    uint32_t kind;    /**< index into the schema's kinds */
    uint32_t parent;  /**< ghost id, or PV_NO_GHOST */
    uint32_t owned;   /**< 1: owned by this client */
    uint32_t updated; /**< tick of the last update that arrived */
} pv_instance;

/** An enter or a leave of a ghost. 20 bytes. */
typedef struct pv_event {
    uint32_t ghost; /**< its id; after a leave it may be in use again */
    uint32_t kind;  /**< index into the schema's kinds */
    uint32_t enter; /**< 1: entered; 0: left, or a retained ghost was dropped */
    /** Reason of an enter: 0 entered, 1 spawned, 2 owned, 3 forced, 8 promoted; of a leave: 4 left,
     * 5 hidden, 6 despawned. */
    uint32_t reason;
    uint32_t copy; /**< the ghost: 0 new, 1 removed, 2 retained, 3 resumed, 4 dropped */
} pv_event;

/** A change of the parent or root of a ghost: it, or its group, was attached or detached. 20
 * bytes. A root is its own root, and has PV_NO_GHOST as its parent. */
typedef struct pv_relation {
    uint32_t ghost;      /**< its id */
    uint32_t old_root,   /**< its root before */
        new_root;        /**< its root after; PV_NO_GHOST: it has left its group and the client */
    uint32_t old_parent, /**< its parent before */
        new_parent;      /**< its parent after */
} pv_relation;

/** A ghost with changes since the events were last taken. A ghost that entered has all its
 * replicated components. 12 bytes. */
typedef struct pv_change {
    uint32_t ghost;         /**< its id */
    uint32_t components;    /**< bit c: a value of component c, or whether it is replicated */
    uint32_t owner_changed; /**< 1: its owner may have changed, or it is new */
} pv_change;

/** An RPC of the server. 20 bytes. */
typedef struct pv_call {
    uint32_t rpc;        /**< index into the schema's RPCs */
    uint32_t ghost;      /**< its target, or PV_NO_GHOST */
    uint32_t first;      /**< its first argument in pv_client_call_values */
    uint32_t count;      /**< number of arguments */
    uint32_t ghost_left; /**< 1: the ghost left after the RPC arrived; `ghost` is none */
} pv_call;

/** Counters since the creation of the client. 96 bytes. */
typedef struct pv_stats {
    double bytes_sent,       /**< of all datagrams, also of the handshake */
        bytes_received;      /**< of all datagrams, also of those that count below */
    double packets_received, /**< data packets that were applied */
        packets_late,        /**< repeated, or older than one that was applied */
        packets_malformed,   /**< damaged, or do not decode */
        packets_lost;        /**< sent packets that were lost */
    double order_violations; /**< children that arrived without their parents */
    double rtt_ms;           /**< smoothed; 0: not known yet */
    double calls_dropped;    /**< RPCs that lacked their ghost, or were not taken */
    double messages_dropped; /**< messages that were not taken */
    double events_dropped;   /**< events and relations that were not taken */
    double calls_unsent;     /**< unreliable RPCs that did not fit into the packet of their tick */
} pv_stats;

/** @name Creation, datagrams, commands and messages
 * @{ */

/** Creates a client. role: 0 spectator, 1 player. nonce: 64 random bits of the system in two
 * halves, new for each connection; returns null if both are 0, or if there is no memory.
 * digest_every: sends a digest with every n-th packet; 0 never. */
PV_API pv_client* pv_client_create(uint32_t nonce_low, uint32_t nonce_high, uint32_t role,
                                   uint32_t digest_every);
/** Destroys a client; null is ignored. */
PV_API void pv_client_destroy(pv_client* client);

/** Returns a buffer of 2,048 bytes for input: a datagram before pv_client_receive, a command before
 * pv_client_send_command. Valid as long as the client. A call with a larger size has no effect. */
PV_API uint8_t* pv_client_input(pv_client* client);
/** Receives a datagram of `size` bytes at pv_client_input. now_ms: the time of a monotonic clock,
 * in milliseconds. Call pv_client_next_datagram afterwards. */
PV_API void pv_client_receive(pv_client* client, uint32_t size, double now_ms);
/** Sets the name for the join: `size` bytes of UTF-8 at pv_client_input, cut at 32. Only before the
 * first pv_client_tick. */
PV_API void pv_client_set_name(pv_client* client, uint32_t size);
/** Sets the credential for the join: `size` bytes at pv_client_input, not sent if more than 512.
 * Only before the first pv_client_tick. */
PV_API void pv_client_set_credential(pv_client* client, uint32_t size);
/** Sends what is due. Call it 20 to 60 times per second. */
PV_API void pv_client_tick(pv_client* client, double now_ms);
/** Returns the size of the next datagram to send; 0: none. Its bytes are at pv_client_output. */
PV_API uint32_t pv_client_next_datagram(pv_client* client);
/** Returns the bytes of that datagram, until the next call of pv_client_next_datagram. */
PV_API const uint8_t* pv_client_output(const pv_client* client);
/** Sends a command of `size` bytes at pv_client_input to the game, at most 200. Returns 1 if it
 * will be sent; 0: too long, not joined, or too many wait. */
PV_API uint32_t pv_client_send_command(pv_client* client, uint32_t size);
/** Returns a buffer for a message of `size` bytes to the game, at most 65,534; null: too large.
 * Valid until the next call of this function or of pv_client_send_message. */
PV_API uint8_t* pv_client_message_room(pv_client* client, uint32_t size);
/** Sends `size` bytes from that buffer to the game, reliably and in order. Returns 1 if they will
 * be sent; 0: not joined, or too much waits. */
PV_API uint32_t pv_client_send_message(pv_client* client, uint32_t size);
/** Disconnects. pv_client_next_datagram returns the disconnect packet. */
PV_API void pv_client_leave(pv_client* client);
/** @} */

/** @name Connection
 * @{ */

/** Returns the state: 0 connecting, 1 joining, 2 joined, 3 refused, 4 closed. */
PV_API uint32_t pv_client_state(const pv_client* client);
/** Returns why the server refused the client: 0 not refused, 1 another protocol version, 2 another
 * schema, 3 full, 4 too many connections of this host, 6 the game refused, 7 shutting down. */
PV_API uint32_t pv_client_refuse_reason(const pv_client* client);
/** Returns why the connection was closed: 0 not closed, 1 left, 2 timeout, 3 malformed, 4 kicked, 5
 * shutting down, 6 never joined. */
PV_API uint32_t pv_client_close_reason(const pv_client* client);
/** Returns the text of the game for a refusal or a close: at most 120 bytes, up to the first zero;
 * "": none. Valid until the next call of this function. */
PV_API const char* pv_client_reason_text(const pv_client* client);
/** @} */

/** @name Ghosts and events
 * @{ */

/** Returns the server's ticks per second; 0 until it has arrived. */
PV_API uint32_t pv_client_tick_hz(const pv_client* client);
/** Returns the tick of the newest snapshot. In an idle world there may be none for 256 ticks. */
PV_API uint32_t pv_client_newest_tick(const pv_client* client);
/** Returns the number of the newest applied packet with a snapshot. */
PV_API uint32_t pv_client_newest_packet(const pv_client* client);
/** Returns the number of ghosts. */
PV_API uint32_t pv_client_ghost_count(const pv_client* client);
/** Fills an array with all ghosts at a tick, which may be between two ticks. Returns their
 * number. */
PV_API uint32_t pv_client_collect(pv_client* client, double tick);
/** Returns that array. */
PV_API const pv_instance* pv_client_instances(const pv_client* client);
/** Takes the events since the last call, and returns their number. Ghosts that left can be read
 * with their last values until the next call, unless their id is in use again. If there are more
 * than 65,536 events, the older half is dropped and counted (events_dropped): call
 * pv_client_collect then. */
PV_API uint32_t pv_client_take_events(pv_client* client);
/** Returns the events that were taken last. */
PV_API const pv_event* pv_client_events(const pv_client* client);
/** Returns the number of parent and root changes in the period of the events that were taken last:
 * one per ghost and snapshot. Process them after the events. */
PV_API uint32_t pv_client_relation_count(const pv_client* client);
/** Returns these changes. */
PV_API const pv_relation* pv_client_relations(const pv_client* client);
/** Returns the number of changed ghosts in the same period: each once, in no particular order. */
PV_API uint32_t pv_client_change_count(const pv_client* client);
/** Returns these ghosts. */
PV_API const pv_change* pv_client_changes(const pv_client* client);
/** Returns the index into the schema's kinds; 0xffffffff: no such ghost. */
PV_API uint32_t pv_client_kind_of(const pv_client* client, uint32_t ghost);
/** Returns 1 if this client owns the entity. */
PV_API uint32_t pv_client_is_owned(const pv_client* client, uint32_t ghost);
/** Returns the parent; PV_NO_GHOST: a root, or no such ghost. */
PV_API uint32_t pv_client_parent_of(const pv_client* client, uint32_t ghost);
/** Returns the position at a tick, which may be between two ticks: x, y, z; zeros for an unknown
 * ghost. Valid until the next call with the handle. */
PV_API const float* pv_client_position(pv_client* client, uint32_t ghost, double tick);
/** Returns the root of its group, itself for a root; PV_NO_GHOST: no such ghost. */
PV_API uint32_t pv_client_root_of(const pv_client* client, uint32_t ghost);
/** Returns the number of cell grids of nodes with shared payloads (docs/shared.md). */
PV_API uint32_t pv_client_cell_grid_count(const pv_client* client);
/** Returns the cell of a ghost by its last position: the same number as on the server. PV_NO_CELL:
 * no such ghost or grid, or the position is in no cell. */
PV_API uint32_t pv_client_cell_of(const pv_client* client, uint32_t ghost, uint32_t grid);
/** Returns the counters. They are updated by the next call of this function. */
PV_API const pv_stats* pv_client_stats(pv_client* client);
/** Returns the value of a field; 0: not a number. */
PV_API double pv_client_value(const pv_client* client, uint32_t ghost, uint32_t component,
                              uint32_t field);
/** Returns a text field: zero-terminated, any bytes but zeros. Valid until the next call with the
 * handle. */
PV_API const char* pv_client_text(pv_client* client, uint32_t ghost, uint32_t component,
                                  uint32_t field);
/** Returns a rotation field: x, y, z, w, of length 1. Valid until the next call with the handle. */
PV_API const float* pv_client_rotation(pv_client* client, uint32_t ghost, uint32_t component,
                                       uint32_t field);
/** Returns the orientation of a ghost at a tick, in the world: x, y, z, w, of length 1. Valid until
 * the next call with the handle. */
PV_API const float* pv_client_orientation(pv_client* client, uint32_t ghost, double tick);
/** Returns the ghost that a reference field refers to, or PV_NO_GHOST. */
PV_API uint32_t pv_client_reference(const pv_client* client, uint32_t ghost, uint32_t component,
                                    uint32_t field);
/** Returns 1 if the component is replicated, so that its values are current. */
PV_API uint32_t pv_client_is_replicated(const pv_client* client, uint32_t ghost,
                                        uint32_t component);
/** Returns how a ghost of an entity that left is retained: 0 it is not, 1 frozen, 2 stale, 3
 * hidden. */
PV_API uint32_t pv_client_retention(const pv_client* client, uint32_t ghost);
/** Returns 1 if everything that was relevant at the join has arrived. */
PV_API uint32_t pv_client_is_view_complete(const pv_client* client);
/** @} */

/** @name RPCs
 * @{ */

/** Takes the RPCs of the server since the last call, in order, and returns their number. Call it
 * after every pv_client_receive: of more than 1,024 the oldest are dropped and counted
 * (calls_dropped). */
PV_API uint32_t pv_client_take_calls(pv_client* client);
/** Returns the RPCs that were taken last. */
PV_API const pv_call* pv_client_calls(const pv_client* client);
/** Returns their arguments as numbers; 0 for an argument that is not a number. */
PV_API const double* pv_client_call_values(const pv_client* client);
/** Returns a text argument by its index in pv_client_call_values: zero-terminated, any bytes but
 * zeros; empty for other types. Valid until RPCs are taken again. */
PV_API const char* pv_client_call_text(const pv_client* client, uint32_t value);
/** Returns a rotation argument by its index in pv_client_call_values: x, y, z, w, of length 1.
 * Valid until RPCs are taken again. */
PV_API const float* pv_client_call_rotation(const pv_client* client, uint32_t value);
/** Sets a text argument of the next pv_client_call: `size` bytes of UTF-8 at pv_client_input. The
 * text is cut at the first zero, and at the size of its field, before a character that does not
 * fit. */
PV_API void pv_client_give_text(pv_client* client, uint32_t argument, uint32_t size);
/** Sets a rotation argument of the next pv_client_call: four doubles at pv_client_input. */
PV_API void pv_client_give_rotation(pv_client* client, uint32_t argument);
/** Calls the server with `count` arguments, as doubles at pv_client_input; texts and rotations are
 * those that were set before. ghost: the target, or PV_NO_GHOST. Returns 1 if the RPC will be sent;
 * 0: not joined, no such RPC to the server, no such ghost, not allowed, or too many RPCs wait. */
PV_API uint32_t pv_client_call(pv_client* client, uint32_t rpc, uint32_t ghost, uint32_t count);
/** @} */

/** @name Messages of the game
 * @{ */

/** Takes the next message of the game, in order. Returns 1 if there was one; it is at
 * pv_client_message until the next call of this function. Call it after every pv_client_receive: of
 * more than 1 MiB the oldest are dropped and counted (messages_dropped). */
PV_API uint32_t pv_client_next_message(pv_client* client);
/** Returns the bytes of that message. */
PV_API const uint8_t* pv_client_message(const pv_client* client);
/** Returns the size of that message. */
PV_API uint32_t pv_client_message_size(const pv_client* client);
/** @} */

/** @name The schema, and the name of the world
 * It has arrived in state 2 at the latest. Until then, and for unknown indices, numbers are 0 and
 * names empty. Names are zero-terminated, and valid as long as the client.
 * @{ */

/** Returns the number of kinds. */
PV_API uint32_t pv_client_kind_count(const pv_client* client);
/** Returns the name of a kind. */
PV_API const char* pv_client_kind_name(const pv_client* client, uint32_t kind);
/** Returns the number of components. */
PV_API uint32_t pv_client_component_count(const pv_client* client);
/** Returns the name of a component. */
PV_API const char* pv_client_component_name(const pv_client* client, uint32_t component);
/** Returns the number of fields of a component. */
PV_API uint32_t pv_client_field_count(const pv_client* client, uint32_t component);
/** Returns the name of a field. */
PV_API const char* pv_client_field_name(const pv_client* client, uint32_t component,
                                        uint32_t field);
/** Returns the type of a field: 0 a number, 1 a text, 2 a rotation, 3 a reference. */
PV_API uint32_t pv_client_field_type(const pv_client* client, uint32_t component, uint32_t field);
/** Returns the number of RPCs, of both directions. */
PV_API uint32_t pv_client_rpc_count(const pv_client* client);
/** Returns the name of an RPC. */
PV_API const char* pv_client_rpc_name(const pv_client* client, uint32_t rpc);
/** Returns 1 for an RPC from clients to the server. */
PV_API uint32_t pv_client_rpc_to_server(const pv_client* client, uint32_t rpc);
/** Returns 1 for an RPC about a ghost. */
PV_API uint32_t pv_client_rpc_about_ghost(const pv_client* client, uint32_t rpc);
/** Returns which clients may call it: 0 all, 1 the owner of the ghost, 2 players. */
PV_API uint32_t pv_client_rpc_callers(const pv_client* client, uint32_t rpc);
/** Returns the number of arguments of an RPC. */
PV_API uint32_t pv_client_argument_count(const pv_client* client, uint32_t rpc);
/** Returns the type of an argument: 0 a number, 1 a text, 2 a rotation. */
PV_API uint32_t pv_client_argument_type(const pv_client* client, uint32_t rpc, uint32_t argument);
/** Returns the name of an argument. */
PV_API const char* pv_client_argument_name(const pv_client* client, uint32_t rpc,
                                           uint32_t argument);
/** Returns the name of the world; empty until it has arrived. Valid until the next call of this
 * function. */
PV_API const char* pv_client_world_name(const pv_client* client);
/** @} */

/** @} */

#ifdef __cplusplus
}
#endif

#endif

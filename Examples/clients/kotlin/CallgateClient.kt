// SPDX-License-Identifier: MIT
package com.example.callgate

import java.text.SimpleDateFormat
import java.util.Date
import java.util.Locale
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible

/**
 * The Java client for coroutines. Version 0.2.0. Copy this file next to the package com.example.callgate. It needs Kotlin 1.5 and
 * kotlinx-coroutines 1.3.6 or newer. Each function runs on Dispatchers.IO. Cancelling the coroutine stops the wait for the network. All
 * functions but [call] throw a [Problem] if there is no result.
 *
 * Create a new CallgateClient when the user changes: each client holds its user's token.
 *
 * @param clock milliseconds that include the time when the phone sleeps: SystemClock::elapsedRealtime on Android
 * @param phoneKey the phone's DPoP key, or null
 * @param appCheck returns a Firebase App Check token for each request, or null
 * @param authorization returns the Authorization header for each request, or null: "Bearer " and a JWT, or OkHttp's Credentials.basic
 */
class CallgateClient(
    base: String,
    clock: () -> Long,
    phoneKey: PhoneKey? = null,
    appCheck: () -> String? = { null },
    authorization: () -> String?,
) {
    private val java = Callgate(base, authorization, clock, phoneKey, appCheck)

    /** A token for Talkdesk's SDK, at most 95% through its lifetime. Parallel calls share one request. */
    suspend fun token(): String = io { java.token() }

    /** Registers the device for tokens by push, at each start of the app and in onNewToken. [platform] is fcm, apns or http. */
    suspend fun register(device: String, platform: String = "fcm") = io { java.register(device, platform) }

    /** Claims a token with the text `message` of a push. Returns false if the push is about something else. */
    suspend fun receive(message: String): Boolean = io { java.receive(message) }

    /**
     * Requests a callback. If the coroutine is cancelled, the outcome is unknown: send the same tap again. [numberProof] is the token of
     * Firebase Phone Number Verification, where the server calls only numbers that are proven.
     */
    suspend fun call(tap: Callgate.Tap, numberProof: String? = null): CallResult = io {
        val outcome = java.call(tap, numberProof)
        if (outcome.kind == Callgate.Outcome.Kind.ACCEPTED) CallResult.Accepted(Call(outcome.callback))
        else CallResult.NotAccepted(outcome.kind, outcome.text(), outcome.action(), outcome.problem)
    }

    suspend fun callback(id: String): Call = io { Call(java.callback(id)) }

    /** Moves an appointment. The code too_late means that the call is in progress or over; slot_full has `alternatives`. */
    suspend fun move(id: String, at: Date): Call = io { Call(java.move(id, at)) }

    /** Cancels an appointment: once this returns, the phone never rings. The code too_late means that the call is in progress or over. */
    suspend fun cancel(id: String): Call = io { Call(java.cancel(id)) }

    /** Whether callbacks are open now. With a span of at most 31 days, also the times to book. */
    suspend fun availability(from: Date? = null, to: Date? = null): Availability = io { Availability(java.availability(from, to)) }

    /**
     * Gets a credential for this phone. [show] receives the code that the customer reads to an operator. It is not called if the
     * request has the user's JWT, or an [attester] suffices.
     *
     * @param clientId a UUID, created once for each phone
     * @param app a name that the operator sees, like [detail]
     * @param serverApp the app in the server's configuration, if more than one has installations
     */
    suspend fun enrol(
        clientId: String,
        app: String,
        detail: String? = null,
        serverApp: String? = null,
        attester: Attester? = null,
        show: (String) -> Unit,
    ): Callgate.Installation = io { java.enrol(clientId, app, detail, serverApp, attester, show) }

    /** Revokes this phone's credential. Delete the secret afterwards. */
    suspend fun unenrol() = io { java.unenrol() }

    private suspend fun <T> io(work: () -> T): T = runInterruptible(Dispatchers.IO, work)
}

sealed class CallResult {
    data class Accepted(val call: Call) : CallResult()

    /**
     * Show [text] and do [action]. MAYBE: the phone may ring. REFUSED: no call was requested. UNANSWERED: send the same tap again later.
     */
    data class NotAccepted(
        val kind: Callgate.Outcome.Kind,
        val text: String,
        val action: Problem.Action,
        val problem: Problem,
    ) : CallResult()
}

/** A callback or an appointment. [members] has every member of the response. */
class Call internal constructor(val members: Map<String, Any?>) {
    val id = members["id"] as String

    /** accepted, scheduled, pending, failed, unknown, cancelled or expired */
    val status = members["status"] as String

    /** When the phone rings; null for a callback without a time. */
    val at: Date? = time(members["at"])

    /** The code that the agent asks for, if the operator has switched codes on. */
    val verificationCode = members["verification_code"] as? String
}

/** [members] has every member of the response. */
class Availability internal constructor(val members: Map<String, Any?>) {
    val open = members["open"] == true

    /** The times to book, with their free and total places. Empty without a span, or without appointments. */
    val slots: List<Slot> = (members["slots"] as? List<*>).orEmpty().filterIsInstance<Map<*, *>>().mapNotNull { slot ->
        val start = time(slot["start"])
        val end = time(slot["end"])
        if (start == null || end == null) null else Slot(start, end, count(slot["free"]), count(slot["total"]))
    }
}

data class Slot(val start: Date, val end: Date, val free: Int, val total: Int)

private fun count(value: Any?) = (value as? Number)?.toInt() ?: 0

private fun time(value: Any?): Date? = (value as? String)?.let { SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ssXXX", Locale.ROOT).parse(it) }

// SPDX-License-Identifier: MIT
package com.example.callgate;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/** Why there is no result: a text for the customer and an action for the app. */
@SuppressWarnings("serial") // Not meant to be serialized.
public final class Problem extends Exception {
  /** What the app should do. Callgate has already retried where that was safe. */
  public enum Action {
    /** Let the customer try again: after retryAfter() seconds, if the server sent it. */
    LATER,
    /** Sign in again. If the phone has its own credential, delete the secret and enroll again. */
    AUTHORIZE,
    /** Start the enrollment again. After taken, use a new UUID. */
    ENROL,
    /** Let the customer correct the number, or what the member "fields" names. */
    CORRECT,
    /** Offer other times: the member "alternatives", or from "next_open" on. */
    CHOOSE_TIME,
    /** Request the record, and show its status. */
    LOOK,
    /** The phone may ring. Do not repeat the request with a new key. */
    MAYBE,
    /** Show the text. Repeating the request does not help. */
    SHOW,
    /** The app or its configuration has a bug: send code and the member "instance" to your error reports. */
    REPORT
  }

  public final int status;
  public final String code;
  /** All members of the server's response: title, detail, instance (the id of the request), fields, next_open, alternatives, id. */
  public final Map<String, Object> members;
  private final Double retryAfter;

  Problem(int status, Map<String, Object> members, String retryAfter) {
    super(members.containsKey("code") ? members.get("code").toString() : "HTTP " + status);
    this.status = status;
    this.members = members;
    this.code = members.containsKey("code") ? members.get("code").toString() : "";
    Double wait = seconds(members.get("retry_after"));
    this.retryAfter = wait != null || retryAfter == null || !retryAfter.matches("[0-9]{1,9}") ? wait : seconds(Double.valueOf(retryAfter));
  }

  static Problem noAnswer() { return of(0, "no_answer"); }

  static Problem of(int status, String code) { return new Problem(status, Collections.<String, Object>singletonMap("code", code), null); }

  /** The pause that the server requests, at least one second; null for anything that is not a number. */
  static Double seconds(Object value) {
    return value instanceof Double && (Double) value >= 0 && (Double) value < 1e9 ? Math.max(1, (Double) value) : null;
  }

  public double retryAfter(double otherwise) { return retryAfter == null ? otherwise : retryAfter; }

  public String text() { return meaning().text; }

  public Action action() { return meaning().action; }

  /** Whether the same request may be sent again, with the same key. */
  boolean mayBeSentAgain() {
    return status == 0 || status == 429 || status == 503 || code.equals("in_progress") || (status >= 500 && code.isEmpty());
  }

  private static final class Meaning {
    final Action action;
    final String text;

    Meaning(Action action, String text) {
      this.action = action;
      this.text = text;
    }
  }

  /** A newer server may have more codes. For those, decide by the status. */
  private Meaning meaning() {
    Meaning known = MEANINGS.get(code);
    if (known != null) return known;
    if (status == 401) return new Meaning(Action.AUTHORIZE, "Please sign in again.");
    if (status == 403 || status == 404 || status == 409 || status == 410) return new Meaning(Action.SHOW, "We cannot do this right now.");
    if (status >= 400 && status < 500 && status != 429) {
      return new Meaning(Action.REPORT, "Something is wrong with this app. Please update it.");
    }
    return new Meaning(Action.LATER, "We cannot do this at the moment. Please try again later.");
  }

  private static final Map<String, Meaning> MEANINGS = new HashMap<>();

  private static void means(String code, Action action, String text) { MEANINGS.put(code, new Meaning(action, text)); }

  static {
    means("malformed_request", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("invalid_json", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("unauthenticated", Action.AUTHORIZE, "Please sign in again.");
    means("invalid_token", Action.AUTHORIZE, "Please sign in again.");
    means("invalid_client", Action.AUTHORIZE, "This phone is no longer registered. Please register it again.");
    means("invalid_proof", Action.REPORT, "Please update this app.");
    means("attestation_required", Action.REPORT, "Please update this app.");
    means("attestation_failed", Action.SHOW, "Please install this app from the official app store.");
    means("closed", Action.CHOOSE_TIME, "We are closed at this time. Please choose another.");
    means("denied", Action.SHOW, "This is not available to you. Please contact us.");
    means("number_not_proven", Action.CORRECT, "Please confirm that this phone number is yours.");
    means("consent_required", Action.CORRECT, "Please agree to be called first.");
    means("number_not_allowed", Action.CORRECT, "We cannot call this number. Please enter another.");
    means("no_agents", Action.LATER, "All our agents are busy. Please try again in a minute.");
    means("stopped", Action.LATER, "We are not taking requests right now.");
    means("not_found", Action.SHOW, "We can no longer find this call.");
    means("unknown_app", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("method_not_allowed", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("request_timeout", Action.LATER, "Your connection is slow. Please try again.");
    means("too_many", Action.SHOW, "You have registered too many phones. Please remove one first.");
    means("taken", Action.ENROL, "This phone is registered to another user. Please try again.");
    means("request_expired", Action.ENROL, "Your code is no longer valid. Please ask for a new one.");
    means("already_delivered", Action.ENROL, "Your code is no longer valid. Please ask for a new one.");
    means("claim_expired", Action.LATER, "This is no longer valid. Please try again.");
    means("challenge_expired", Action.LATER, "This is no longer valid. Please try again.");
    means("duplicate", Action.LOOK, "You have already asked us to call this number.");
    means("in_progress", Action.LATER, "We are still working on your call.");
    means("slot_full", Action.CHOOSE_TIME, "This time is taken. Please choose another.");
    means("too_late", Action.LOOK, "This call can no longer be changed.");
    means("no_device", Action.REPORT, "Please allow notifications for this app.");
    means("content_too_large", Action.CORRECT, "Your text is too long. Please shorten it.");
    means("target_too_long", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("unsupported_media_type", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("invalid_request", Action.CORRECT, "Please check what you entered.");
    means("idempotency_mismatch", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("slow_down", Action.LATER, "Please wait a moment.");
    means("rate_limited", Action.LATER, "Too many requests. Please try again in a moment.");
    means("quota_exhausted", Action.LATER, "You have asked for too many calls. Please try again later.");
    means("upstream_rate_limited", Action.LATER, "We are getting a lot of calls right now. Please try again shortly.");
    means("fields_too_large", Action.REPORT, "Something is wrong with this app. Please update it.");
    means("internal", Action.LATER, "Something went wrong on our side. Please try again later.");
    means("upstream_refused", Action.SHOW, "We cannot call you at the moment.");
    means("upstream_failed", Action.LOOK, "Something went wrong on our side.");
    means("upstream_unavailable", Action.LATER, "We cannot call you at the moment. Please try again shortly.");
    means("audit_unavailable", Action.LATER, "We cannot call you at the moment. Please try again shortly.");
    means("store_unavailable", Action.LATER, "We cannot call you at the moment. Please try again shortly.");
    means("attestation_unavailable", Action.LATER, "We cannot call you at the moment. Please try again shortly.");
    means("overloaded", Action.LATER, "We are getting a lot of requests right now. Please try again shortly.");
    means("upstream_timeout", Action.LATER, "We cannot call you at the moment. Please try again shortly.");
    means("outcome_unknown", Action.MAYBE, "We may be calling you. Please keep your phone nearby.");
    means("no_answer", Action.LATER, "We could not reach our server. Check your connection and try again.");
  }
}

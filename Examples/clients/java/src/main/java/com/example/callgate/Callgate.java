// SPDX-License-Identifier: MIT
package com.example.callgate;

import java.io.IOException;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/**
 * A client for Callgate: tokens for Talkdesk's SDK, also by push, callbacks, appointments, and a credential for this phone.
 *
 * <p>Version 0.2.0. Copy this package into your app, or build its artifact. It needs OkHttp 3.13 or newer and Java 8. All methods block on the
 * network: call them on a background thread. In Kotlin, use CallgateClient. Interrupting the thread ends the call.
 */
public final class Callgate {
  private static final MediaType JSON = MediaType.parse("application/json");

  private final String base;
  private final OkHttpClient client;
  private final Supplier<String> authorization;
  private final LongSupplier clock;
  private final PhoneKey phoneKey;
  private final Supplier<String> appCheck;
  private volatile String nonce;

  /**
   * Create a new Callgate when the user changes: this one holds the user's token.
   *
   * @param authorization returns the header's value, or null: OkHttp's Credentials.basic(id, secret), or "Bearer " + a JWT. Called before
   *     each request, so a renewed JWT is used at once. Read secrets from a file that an Android Keystore key encrypts. Never put a secret
   *     into the code: anyone can unpack an app.
   * @param clock milliseconds that include the time when the phone sleeps: SystemClock::elapsedRealtime on Android. System.nanoTime stops
   *     while the phone sleeps, so an expired token would look valid.
   */
  public Callgate(String base, Supplier<String> authorization, LongSupplier clock) {
    this(base, authorization, clock, null);
  }

  /** @param phoneKey this phone's key; null for none */
  public Callgate(String base, Supplier<String> authorization, LongSupplier clock, PhoneKey phoneKey) {
    this(base, authorization, clock, phoneKey, () -> null);
  }

  /**
   * @param phoneKey this phone's key; null for none
   * @param appCheck returns a Firebase App Check token, or null for none. Called before each request, since the SDK caches the
   *     token: Tasks.await(FirebaseAppCheck.getInstance().getAppCheckToken(false)).getToken()
   */
  public Callgate(String base, Supplier<String> authorization, LongSupplier clock, PhoneKey phoneKey, Supplier<String> appCheck) {
    this.phoneKey = phoneKey;
    this.appCheck = appCheck;
    this.base = base.replaceAll("/$", "") + "/";
    this.authorization = authorization;
    this.clock = clock;
    // This class retries itself, and must know of each try. OkHttp would also retry after 503 with "Retry-After: 0".
    OkHttpClient.Builder builder = new OkHttpClient.Builder().retryOnConnectionFailure(false).readTimeout(25, TimeUnit.SECONDS);
    builder.addNetworkInterceptor(chain -> {
      Response response = chain.proceed(chain.request());
      return response.header("Retry-After", "").matches("0+") ? response.newBuilder().removeHeader("Retry-After").build() : response;
    });
    this.client = builder.build();
  }

  // Tokens

  private static final class Token {
    final String value;
    final long renewAt, end;

    Token(String value, long began, double expiresIn) {
      this.value = value;
      this.renewAt = began + (long) (expiresIn * 800);
      this.end = began + (long) (expiresIn * 950);
    }
  }

  private final ReentrantLock renewing = new ReentrantLock();
  private volatile Token token;
  private long pausedUntil = Long.MIN_VALUE;
  private Problem lastFailure;

  /** A token for Talkdesk's SDK. Parallel calls share one request. After 80% of its lifetime, a token is renewed while it is still in use. */
  public String token() throws Problem, InterruptedException {
    Token held = token;
    if (held != null && clock.getAsLong() < held.renewAt) return held.value;
    boolean isValid = held != null && clock.getAsLong() < held.end;
    // One thread renews the token. The others wait for it if they have none.
    if (isValid && !renewing.tryLock()) return held.value;
    if (!isValid) renewing.lockInterruptibly();
    try {
      if (token != held) return token.value;
      if (clock.getAsLong() < pausedUntil) {
        // The server asked for a pause: an earlier request would only be refused again.
        if (isValid) return held.value;
        throw lastFailure;
      }
      try {
        // Talkdesk's SDK waits 30 seconds for a response.
        Answer answer = send("GET", "access", null, null, isValid ? 0 : 20);
        if (answer.status != 202) {
          keep(answer);
        } else if (isValid) {
          // The current token is valid until the notification arrives.
          pausedUntil = clock.getAsLong() + 60_000;
        } else {
          awaitNotice(answer.asked);
        }
      } catch (Problem problem) {
        lastFailure = problem;
        pausedUntil = clock.getAsLong() + (long) (problem.retryAfter(1) * 1000);
        if (!isValid) throw problem;
      }
      return token.value;
    } finally {
      renewing.unlock();
    }
  }

  private void keep(Answer answer) throws Problem {
    Map<String, Object> content = answer.content();
    if (!(content.get("access_token") instanceof String && content.get("expires_in") instanceof Double)) throw Problem.noAnswer();
    if (content.get("access_token").equals("")) throw Problem.noAnswer();
    token = new Token((String) content.get("access_token"), answer.asked, (Double) content.get("expires_in"));
  }

  // Tokens by push

  private final Object claims = new Object();
  private long claimedAt = Long.MIN_VALUE;
  private Problem claimFailure;

  /**
   * Registers this device, for an app whose tokens arrive by push. Call it at each start of the app, and whenever Firebase issues a new
   * token (onNewToken).
   *
   * @param platform "fcm", "apns" or "http"
   */
  public void register(String device, String platform) throws Problem, InterruptedException {
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("platform", platform);
    body.put("token", device);
    send("PUT", "installations/self/push", body, null, 20).content();
  }

  /**
   * Claims the token that a push announces. Pass the string "message" of each push: getData().get("message") of Firebase's RemoteMessage.
   * Returns false if the push is about something else. A waiting token() gets the token.
   */
  public boolean receive(String message) throws Problem, InterruptedException {
    Map<String, Object> notice = Json.object(message);
    if (!"access".equals(notice.get("_action"))) return false;
    long asked = clock.getAsLong();
    Problem failure = null;
    try {
      keep(send("POST", "access/claim", Collections.singletonMap("claim", notice.get("_id")), null, 20));
    } catch (Problem problem) {
      failure = problem;
    }
    synchronized (claims) {
      claimedAt = asked;
      claimFailure = failure;
      claims.notifyAll();
    }
    if (failure != null) throw failure;
    return true;
  }

  /** Waits until receive has claimed a token. The push may arrive before the response that announces it. */
  private void awaitNotice(long asked) throws Problem, InterruptedException {
    synchronized (claims) {
      while (claimedAt < asked) {
        long left = asked + 25_000 - clock.getAsLong();
        if (left <= 0) throw Problem.of(410, "claim_expired");
        claims.wait(left);
      }
      if (claimFailure != null) throw claimFailure;
    }
  }

  // Callbacks

  /**
   * One tap on "Call me". Save its fields before you send it, so that they survive a restart of the app. Delete them once the outcome is
   * not UNANSWERED. The key keeps the phone from ringing twice.
   */
  public static final class Tap {
    public final String key, number;
    public final Map<String, String> context;
    public final Date at, created;
    private final AtomicBoolean isNew;

    /** A new tap.
     * @param number E.164: + and digits. The server does not correct other formats.
     * @param at when the phone rings: null for now */
    public Tap(String number, Map<String, String> context, Date at) {
      this(UUID.randomUUID().toString(), number, context, at, new Date(), true);
    }

    /** A saved tap, from its fields. It may have been sent before the app restarted. */
    public Tap(String key, String number, Map<String, String> context, Date at, Date created) {
      this(key, number, context, at, created, false);
    }

    private Tap(String key, String number, Map<String, String> context, Date at, Date created, boolean isNew) {
      this.key = key;
      this.number = number;
      this.context = context;
      this.at = at;
      this.created = created;
      this.isNew = new AtomicBoolean(isNew);
    }

    /** Discard a saved tap that is older than an hour. The server remembers a key for 24 hours. After that, the phone would ring again. */
    public boolean isExpired() { return Math.abs(System.currentTimeMillis() - created.getTime()) >= 3_600_000; }
  }

  public static final class Outcome {
    public enum Kind {
      /** The phone rings; with at, at that time. The agent asks for the callback's verification_code. */
      ACCEPTED,
      /** The phone may ring. Create a new Tap only when the customer requests another call. */
      MAYBE,
      /** No call was requested. */
      REFUSED,
      /** The outcome is unknown. Send the same Tap again later. */
      UNANSWERED
    }

    public final Kind kind;
    /** With ACCEPTED: id, status, at, verification_code. */
    public final Map<String, Object> callback;
    /** Otherwise: why. */
    public final Problem problem;

    Outcome(Kind kind, Map<String, Object> callback, Problem problem) {
      this.kind = kind;
      this.callback = callback;
      this.problem = problem;
    }

    /** The text for the customer unless ACCEPTED. Do not show the problem's text: it describes a single response, and may cause a second tap. */
    public String text() { return meaning().text(); }

    /** What the app should do unless ACCEPTED. */
    public Problem.Action action() { return meaning().action(); }

    private Problem meaning() {
      if (kind == Kind.MAYBE) return Problem.of(504, "outcome_unknown");
      return kind == Kind.UNANSWERED && !problem.code.equals("no_answer") ? Problem.of(409, "in_progress") : problem;
    }
  }

  /** Requests a callback. After an InterruptedException, the outcome is unknown: send the same Tap again. */
  public Outcome call(Tap tap) throws InterruptedException { return call(tap, null); }

  /**
   * Requests a callback where the server calls only numbers that are proven (number_not_proven with "proof" in accepts).
   *
   * @param numberProof The token of Firebase Phone Number Verification for the tap's number: getToken() of its result. It works once;
   *     a retry of the same Tap may send it again.
   */
  public Outcome call(Tap tap, String numberProof) throws InterruptedException {
    if (tap.isExpired()) return new Outcome(Outcome.Kind.MAYBE, null, Problem.noAnswer());
    boolean wasNew = tap.isNew.getAndSet(false);
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("contact_phone_number", tap.number);
    body.put("context", tap.context);
    body.put("at", tap.at == null ? null : time(tap.at));
    if (numberProof != null) body.put("number_proof", numberProof);
    // The server can take up to 20 seconds to respond.
    Answer answer = send("POST", "calls/callback", body, tap.key, 60);
    Problem problem = answer.problem;
    if (problem == null && answer.content.containsKey("id")) return new Outcome(Outcome.Kind.ACCEPTED, answer.content, null);
    if (problem == null) problem = Problem.noAnswer();
    return new Outcome(kind(problem, answer.wasLost || !wasNew), null, problem);
  }

  private Outcome.Kind kind(Problem problem, boolean wasLost) throws InterruptedException {
    if (problem.code.equals("outcome_unknown")) return Outcome.Kind.MAYBE;
    if (problem.code.equals("upstream_failed") && problem.members.containsKey("id")) {
      // Talkdesk returned an error. Only the record says whether Talkdesk may have accepted the call anyway.
      try {
        Object status = callback(problem.members.get("id").toString()).get("status");
        return "failed".equals(status) ? Outcome.Kind.REFUSED : Outcome.Kind.MAYBE;
      } catch (Problem noRecord) {
        return Outcome.Kind.MAYBE;
      }
    }
    // After a try without a response, a refusal proves nothing: the server may have accepted the earlier try.
    boolean isOpen = wasLost || problem.status == 0 || problem.code.equals("in_progress");
    return isOpen ? Outcome.Kind.UNANSWERED : Outcome.Kind.REFUSED;
  }

  /** The record of a callback: status is accepted, scheduled, pending, failed, unknown, cancelled or expired. */
  public Map<String, Object> callback(String id) throws Problem, InterruptedException {
    return send("GET", "callbacks/" + id, null, null, 20).content();
  }

  /** Moves an appointment. too_late means that the call is in progress or over; slot_full has the member alternatives. */
  public Map<String, Object> move(String id, Date at) throws Problem, InterruptedException {
    return send("PATCH", "callbacks/" + id, Collections.singletonMap("at", time(at)), null, 20).content();
  }

  /** Cancels an appointment. Once this returns, the phone never rings. too_late means that the call is in progress or over. */
  public Map<String, Object> cancel(String id) throws Problem, InterruptedException {
    return send("DELETE", "callbacks/" + id, null, null, 20).content();
  }

  /** Whether to show the button now (open). With a span of at most 31 days, also the times to book (slots). */
  public Map<String, Object> availability(Date from, Date to) throws Problem, InterruptedException {
    String span = from == null ? "" : "?from=" + time(from) + "&to=" + time(to);
    return send("GET", "availability" + span, null, null, 20).content();
  }

  // Installations

  /** This phone's credential: Credentials.basic(clientId, clientSecret). Exclude it from backups. */
  public static final class Installation {
    public final String clientId, clientSecret;

    public Installation(String clientId, String clientSecret) {
      this.clientId = clientId;
      this.clientSecret = clientSecret;
    }
  }

  /**
   * Gets a credential for this phone. With the user's JWT as the authorization, this returns at once. Otherwise show receives a code, which
   * the customer reads to an operator, and this waits for the approval.
   *
   * @param clientId a UUID
   * @param app a name that the operator sees, like detail, which may be null
   * @param serverApp the app in the server's configuration, if more than one has installations; otherwise null
   */
  public Installation enrol(String clientId, String app, String detail, String serverApp, Consumer<String> show)
      throws Problem, InterruptedException {
    return enrol(clientId, app, detail, serverApp, null, show);
  }

  /** @param attester proves that this is the genuine app, if the server requires that; otherwise null */
  public Installation enrol(String clientId, String app, String detail, String serverApp, Attester attester, Consumer<String> show)
      throws Problem, InterruptedException {
    String query = serverApp == null ? "" : "?app=" + serverApp;
    String path = "fetch-code" + query;
    // Send the same values in each request, byte for byte: the server compares them.
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("client_id", clientId);
    body.put("client_app", app);
    body.put("client_detail", detail);
    if (phoneKey != null) body.put("jkt", phoneKey.thumbprint());
    if (attester != null) {
      String challenge = "";
      if (attester.needsChallenge) {
        Answer answer = send("POST", "attestation/challenge" + query, Collections.emptyMap(), null, 20);
        challenge = answer.content().get("challenge").toString();
      }
      String key = phoneKey == null ? "" : phoneKey.thumbprint();
      String clientData = String.join("\n", "callgate-enrol-1", clientId.toLowerCase(Locale.ROOT), app, detail == null ? "" : detail, challenge, key);
      body.put("attestation", attester.making.make(clientData, challenge));
    }
    while (true) {
      Map<String, Object> content = send("POST", path, body, null, 60).content();
      if (content.containsKey("client_secret")) return new Installation(clientId, content.get("client_secret").toString());
      if (!content.containsKey("request_id")) throw Problem.noAnswer();
      if (!body.containsKey("request_id")) show.accept(content.get("user_code").toString());
      // Until the secret is delivered, anyone with this value can get it: hold it in memory only, and do not log it.
      body.put("request_id", content.get("request_id"));
      body.remove("attestation");
      Double interval = Problem.seconds(content.get("interval"));
      Thread.sleep((long) (interval == null ? 5 : Math.min(interval, 600)) * 1000);
    }
  }

  /** Revokes this phone's credential. Delete the secret afterwards. */
  public void unenrol() throws Problem, InterruptedException {
    send("DELETE", "installations/self", null, null, 20).content();
  }

  // Requests

  private static final class Answer {
    /** 0 with a problem. */
    final int status;
    final Map<String, Object> content;
    final Problem problem;
    /** When the last try began. A token's lifetime counts from here: after a slow response, less of it is left. */
    final long asked;
    /** Whether a try got no response, or a response that is not from Callgate. */
    final boolean wasLost;

    Answer(int status, Map<String, Object> content, Problem problem, long asked, boolean wasLost) {
      this.status = status;
      this.content = content;
      this.problem = problem;
      this.asked = asked;
      this.wasLost = wasLost;
    }

    Map<String, Object> content() throws Problem {
      if (problem != null) throw problem;
      return content;
    }
  }

  /**
   * Retries a request only when that is safe: without a response, after 409 in_progress, 429 and 503, and after a proxy's error. Waits as
   * long as the server says, and starts no try that would exceed the patience (seconds).
   */
  private Answer send(String method, String path, Map<String, Object> body, String key, double patience) throws InterruptedException {
    Request.Builder builder = new Request.Builder().url(base + path).header("Accept", "application/json");
    builder.method(method, body == null ? null : RequestBody.create(JSON, Json.write(body)));
    if (key != null) builder.header("Idempotency-Key", key);
    double end = clock.getAsLong() + patience * 1000;
    // Read once: an Idempotency-Key belongs to one user.
    String credential = authorization.get();
    if (credential != null) builder.header("Authorization", credential);
    String attestation = appCheck.get();
    if (attestation != null) builder.header("X-Firebase-AppCheck", attestation);
    String token = credential != null && credential.startsWith("Bearer ") ? credential.substring(7) : null;
    boolean wasLost = false;
    boolean hasNewNonce = false;
    for (double pause = 1; ; pause = Math.min(2 * pause, 8)) {
      Problem problem;
      long asked = clock.getAsLong();
      long limit = (long) Math.min(25_000, Math.max(5_000, end - asked));
      OkHttpClient limited = client.newBuilder().callTimeout(limit, TimeUnit.MILLISECONDS).build();
      if (phoneKey != null) builder.header("DPoP", phoneKey.proof(method, base + path, nonce, token));
      try (Response response = limited.newCall(builder.build()).execute()) {
        Map<String, Object> content = Json.object(response.body().string());
        if (response.isSuccessful()) return new Answer(response.code(), content, null, asked, wasLost);
        problem = new Problem(response.code(), content, response.header("Retry-After"));
        nonce = response.header("DPoP-Nonce", nonce);
        if (problem.code.equals("invalid_proof") && !hasNewNonce) {
          hasNewNonce = true;
          continue; // Nothing was done yet: send the same request with a proof for this nonce.
        }
      } catch (IOException noResponse) {
        if (Thread.interrupted()) throw new InterruptedException();
        problem = Problem.noAnswer();
      }
      if (problem.status == 0 || problem.code.isEmpty()) wasLost = true;
      double wait = problem.retryAfter(pause) * 1000;
      if (!problem.mayBeSentAgain() || clock.getAsLong() + wait >= end) return new Answer(0, null, problem, asked, wasLost);
      Thread.sleep((long) wait);
    }
  }

  /** A time as RFC 3339, in UTC. */
  private static String time(Date date) {
    java.text.SimpleDateFormat format = new java.text.SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss'Z'", java.util.Locale.ROOT);
    format.setTimeZone(TimeZone.getTimeZone("UTC"));
    return format.format(date);
  }
}

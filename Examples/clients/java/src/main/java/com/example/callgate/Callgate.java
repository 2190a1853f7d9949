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
 * A Callgate server as an app sees it: tokens for Talkdesk's SDK, also by push, callbacks, appointments, and the
 * enrolment of this phone.
 *
 * <p>Version 0.2.0. Copy this package into your app, or build its artifact. It needs OkHttp 3.13 or newer and Java 8. All methods wait for the
 * network: call them on a thread of your own, or in Kotlin within withContext(Dispatchers.IO). Interrupting the thread ends them.
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
   * Make a new Callgate when the user changes: this one keeps the user's token.
   *
   * @param authorization gives the header's value, or null: Credentials.basic(id, secret) of OkHttp, or "Bearer " + a JWT. Asked before
   *     each request, so that a renewed JWT is used at once. Read secrets from a file that a key of the Android Keystore encrypts. A
   *     secret in the code is no secret: anyone can unpack an app.
   * @param clock milliseconds that go on while the phone sleeps. Android: SystemClock::elapsedRealtime. System.nanoTime stops there,
   *     and an old token would look young.
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
   * @param appCheck gives a token of Firebase App Check, or null, where the request goes without. Asked before each request, since the
   *     SDK keeps the token: Tasks.await(FirebaseAppCheck.getInstance().getAppCheckToken(false)).getToken()
   */
  public Callgate(String base, Supplier<String> authorization, LongSupplier clock, PhoneKey phoneKey, Supplier<String> appCheck) {
    this.phoneKey = phoneKey;
    this.appCheck = appCheck;
    this.base = base.replaceAll("/$", "") + "/";
    this.authorization = authorization;
    this.clock = clock;
    // This class sends again itself, and must know of each try. OkHttp also sends again after 503 with "Retry-After: 0".
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

  /** A token for Talkdesk's SDK. Parallel calls share one request. From 80 % of its life on, a token is renewed while it is used. */
  public String token() throws Problem, InterruptedException {
    Token held = token;
    if (held != null && clock.getAsLong() < held.renewAt) return held.value;
    boolean isValid = held != null && clock.getAsLong() < held.end;
    // One thread renews. Without a token the others wait for it.
    if (isValid && !renewing.tryLock()) return held.value;
    if (!isValid) renewing.lockInterruptibly();
    try {
      if (token != held) return token.value;
      if (clock.getAsLong() < pausedUntil) {
        // The server asked for a pause: asking earlier would only be refused again.
        if (isValid) return held.value;
        throw lastFailure;
      }
      try {
        // Talkdesk's SDK waits 30 seconds for a response.
        Answer answer = send("GET", "access", null, null, isValid ? 0 : 20);
        if (answer.status != 202) {
          keep(answer);
        } else if (isValid) {
          // The token that is held will do until the notice comes.
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
   * Registers this phone's device, for an app whose tokens come by push. Call it at each start of the app, and whenever Firebase gives
   * another token (onNewToken).
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
   * Claims the token of a notice. Hand in the text "message" of each push: getData().get("message") of Firebase's RemoteMessage. False
   * says that the push is about something else. A token() that waits gets the token.
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

  /** Waits until receive has claimed a token. The notice may come before the response that announces it. */
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
   * One tap on "Call me". Save its fields before you send it, and keep them until the outcome is another than UNANSWERED, also when the
   * app restarts: the key is what keeps the phone from ringing twice.
   */
  public static final class Tap {
    public final String key, number;
    public final Map<String, String> context;
    public final Date at, created;
    private final AtomicBoolean isNew;

    /** A new tap.
     * @param number E.164: + and digits; the server repairs nothing
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

    /** Discard a saved tap that is older than an hour. The server keeps a key for 24 hours; after that the phone would ring again. */
    public boolean isExpired() { return Math.abs(System.currentTimeMillis() - created.getTime()) >= 3_600_000; }
  }

  public static final class Outcome {
    public enum Kind {
      /** It rings; with at, at that time. The member verification_code of the callback is what the agent asks for. */
      ACCEPTED,
      /** It may ring. Make a new Tap only when the customer asks for one. */
      MAYBE,
      /** No call was requested. */
      REFUSED,
      /** Not known yet: send the same Tap again later. */
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

    /** What the customer reads unless ACCEPTED. Use this: the problem's text is about one response, and may lead to a second tap. */
    public String text() { return meaning().text(); }

    /** What the app does unless ACCEPTED. */
    public Problem.Action action() { return meaning().action(); }

    private Problem meaning() {
      if (kind == Kind.MAYBE) return Problem.of(504, "outcome_unknown");
      return kind == Kind.UNANSWERED && !problem.code.equals("no_answer") ? Problem.of(409, "in_progress") : problem;
    }
  }

  /** Requests a callback. After an InterruptedException the outcome is not known: send the same Tap again. */
  public Outcome call(Tap tap) throws InterruptedException {
    if (tap.isExpired()) return new Outcome(Outcome.Kind.MAYBE, null, Problem.noAnswer());
    boolean wasNew = tap.isNew.getAndSet(false);
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("contact_phone_number", tap.number);
    body.put("context", tap.context);
    body.put("at", tap.at == null ? null : time(tap.at));
    // The server itself takes up to 20 seconds for a response.
    Answer answer = send("POST", "calls/callback", body, tap.key, 60);
    Problem problem = answer.problem;
    if (problem == null && answer.content.containsKey("id")) return new Outcome(Outcome.Kind.ACCEPTED, answer.content, null);
    if (problem == null) problem = Problem.noAnswer();
    return new Outcome(kind(problem, answer.wasLost || !wasNew), null, problem);
  }

  private Outcome.Kind kind(Problem problem, boolean wasLost) throws InterruptedException {
    if (problem.code.equals("outcome_unknown")) return Outcome.Kind.MAYBE;
    if (problem.code.equals("upstream_failed") && problem.members.containsKey("id")) {
      // Talkdesk responded with a failure. Only the record says whether it may have taken the call all the same.
      try {
        Object status = callback(problem.members.get("id").toString()).get("status");
        return "failed".equals(status) ? Outcome.Kind.REFUSED : Outcome.Kind.MAYBE;
      } catch (Problem noRecord) {
        return Outcome.Kind.MAYBE;
      }
    }
    // After a try without a response, a refusal proves nothing: the server may have accepted that try.
    boolean isOpen = wasLost || problem.status == 0 || problem.code.equals("in_progress");
    return isOpen ? Outcome.Kind.UNANSWERED : Outcome.Kind.REFUSED;
  }

  /** What became of a callback: status is accepted, scheduled, pending, failed, unknown, cancelled or expired. */
  public Map<String, Object> callback(String id) throws Problem, InterruptedException {
    return send("GET", "callbacks/" + id, null, null, 20).content();
  }

  /** Moves an appointment to another time. too_late says that the call is on its way or over; slot_full has the member alternatives. */
  public Map<String, Object> move(String id, Date at) throws Problem, InterruptedException {
    return send("PATCH", "callbacks/" + id, Collections.singletonMap("at", time(at)), null, 20).content();
  }

  /** Cancels an appointment. If it returns, the phone never rings; too_late says that the call is on its way or over. */
  public Map<String, Object> cancel(String id) throws Problem, InterruptedException {
    return send("DELETE", "callbacks/" + id, null, null, 20).content();
  }

  /** Whether to show the button now (open), and with a span of at most 31 days the times that can be booked (slots). */
  public Map<String, Object> availability(Date from, Date to) throws Problem, InterruptedException {
    String span = from == null ? "" : "?from=" + time(from) + "&to=" + time(to);
    return send("GET", "availability" + span, null, null, 20).content();
  }

  // Installations

  /** This phone's own credential: Credentials.basic(clientId, clientSecret). Keep it out of backups. */
  public static final class Installation {
    public final String clientId, clientSecret;

    public Installation(String clientId, String clientSecret) {
      this.clientId = clientId;
      this.clientSecret = clientSecret;
    }
  }

  /**
   * Gets a credential for this phone. With the user's JWT as the authorization it is there at once. Otherwise show gets a code, which the
   * customer tells an operator, and this waits for the approval.
   *
   * @param clientId a UUID
   * @param app a name for the operator, as is detail, which may be null
   * @param serverApp the app in the server's configuration, if more than one has installations; otherwise null
   */
  public Installation enrol(String clientId, String app, String detail, String serverApp, Consumer<String> show)
      throws Problem, InterruptedException {
    return enrol(clientId, app, detail, serverApp, null, show);
  }

  /** @param attester proves that this is the genuine app, where the server asks for that; otherwise null */
  public Installation enrol(String clientId, String app, String detail, String serverApp, Attester attester, Consumer<String> show)
      throws Problem, InterruptedException {
    String query = serverApp == null ? "" : "?app=" + serverApp;
    String path = "fetch-code" + query;
    // All values stay the same in each request, byte for byte: the server compares them.
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
      // It is worth a secret until the secret is delivered: keep it in memory, and out of logs.
      body.put("request_id", content.get("request_id"));
      body.remove("attestation");
      Double interval = Problem.seconds(content.get("interval"));
      Thread.sleep((long) (interval == null ? 5 : Math.min(interval, 600)) * 1000);
    }
  }

  /** Ends this phone's installation. Delete its secret afterwards. */
  public void unenrol() throws Problem, InterruptedException {
    send("DELETE", "installations/self", null, null, 20).content();
  }

  // Requests

  private static final class Answer {
    /** 0 with a problem. */
    final int status;
    final Map<String, Object> content;
    final Problem problem;
    /** When the last try began. A token's life is counted from here: after a slow response it is older than it looks. */
    final long asked;
    /** Whether a try got no response, or one that is not Callgate's own. */
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
   * Sends a request again only where that is safe: without a response, after 409 in_progress, 429 and 503, and after an error of a proxy.
   * It waits as long as the server says, and starts no try that the patience (seconds) has no room for.
   */
  private Answer send(String method, String path, Map<String, Object> body, String key, double patience) throws InterruptedException {
    Request.Builder builder = new Request.Builder().url(base + path).header("Accept", "application/json");
    builder.method(method, body == null ? null : RequestBody.create(JSON, Json.write(body)));
    if (key != null) builder.header("Idempotency-Key", key);
    double end = clock.getAsLong() + patience * 1000;
    // Read once: the server keeps a key for one user.
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
          continue; // Nothing was done: the same request with a proof for this nonce.
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

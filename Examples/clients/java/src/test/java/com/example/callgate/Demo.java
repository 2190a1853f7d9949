// SPDX-License-Identifier: MIT
package com.example.callgate;

import java.util.Collections;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import okhttp3.Credentials;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/**
 * Runs everything that an app does with Callgate, and prints the results. It approves its own enrollment in the sandbox.
 *
 * <p>java com.example.callgate.Demo [URL [STEP [PHONE_NUMBER]]], STEP: token, callback, availability, appointment, enrolment, push, renewal or
 * again
 */
final class Demo {
  private static String base;
  private static String number;
  /** A token of Firebase App Check, as your app gets it from the SDK; null for none. POST /_sandbox/attest makes one. */
  private static final String appCheck = System.getenv("CALLGATE_APP_CHECK");
  private static Callgate callgate;
  private static final Date tomorrow = new Date(System.currentTimeMillis() + 86_400_000L);

  public static void main(String[] arguments) throws Exception {
    base = arguments.length > 0 ? arguments[0] : "http://localhost:8080";
    number = arguments.length > 2 ? arguments[2] : "+1415555" + ThreadLocalRandom.current().nextInt(1000, 10_000);
    callgate = new Callgate(base, () -> null, Demo::milliseconds, null, () -> appCheck);
    String[] steps = {"token", "callback", "availability", "appointment", "enrolment", "push"};
    try {
      for (String name : arguments.length > 1 ? new String[] {arguments[1]} : steps) step(name);
    } catch (Problem problem) {
      System.out.println("refused, " + told(problem));
      System.exit(1);
    }
    System.exit(0); // OkHttp's threads would keep the process for a minute.
  }

  private static long milliseconds() { return System.nanoTime() / 1_000_000; }

  private static void step(String name) throws Exception {
    switch (name) {
      case "token": token(); break;
      case "renewal":
        // An app that stays open until its token is renewed.
        String first = callgate.token();
        while (callgate.token().equals(first)) Thread.sleep(100);
        System.out.println("renewal: another token");
        break;
      case "callback":
        System.out.println("callback: " + told(callgate.call(
            new Callgate.Tap(number, Collections.singletonMap("issue", "My flight was canceled"), null))));
        break;
      case "again":
        // An app that sends its tap twice, and after a restart the saved tap, until its outcome is known.
        Callgate.Tap tap = new Callgate.Tap(number, null, null);
        for (int one = 1; one <= 2; one++) System.out.println("again: " + told(callgate.call(tap)));
        for (int one = 1; one <= 2; one++) {
          Callgate.Tap loaded = new Callgate.Tap(tap.key, tap.number, tap.context, tap.at, tap.created);
          System.out.println("again: " + told(callgate.call(loaded)));
        }
        break;
      case "availability":
        Map<String, Object> found = callgate.availability(tomorrow, new Date(tomorrow.getTime() + 3_600_000));
        Object slots = found.get("slots");
        System.out.println("availability: " + ((Boolean) found.get("open") ? "open" : "closed") + ", "
            + (slots == null ? 0 : ((List<?>) slots).size()) + " times tomorrow");
        break;
      case "appointment":
        Callgate.Outcome outcome = callgate.call(new Callgate.Tap(number, null, tomorrow));
        System.out.println("appointment: " + told(outcome));
        if (outcome.callback == null) break;
        Date later = new Date(tomorrow.getTime() + 3_600_000);
        System.out.println("appointment: moved to " + callgate.move(outcome.callback.get("id").toString(), later).get("at"));
        System.out.println("appointment: " + callgate.cancel(outcome.callback.get("id").toString()).get("status"));
        break;
      case "enrolment": enrolment(); break;
      case "push": push(); break;
      default: throw new IllegalArgumentException("no such step: " + name);
    }
  }

  /** Fifty parts of an app need a token at once, and the server gets one request. */
  private static void token() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(50);
    List<Future<String>> asked = pool.invokeAll(Collections.nCopies(50, () -> callgate.token()));
    pool.shutdown();
    Set<String> tokens = new HashSet<>();
    for (Future<String> one : asked) {
      try {
        tokens.add(one.get());
      } catch (ExecutionException error) {
        throw (Exception) error.getCause();
      }
    }
    System.out.println("token: 50 requests, " + tokens.size() + " token of " + tokens.iterator().next().length() + " characters");
  }

  private static void enrolment() throws Exception {
    Attester attester = appCheck == null ? null : Attester.appCheck(() -> appCheck);
    Callgate.Installation phone = callgate.enrol(UUID.randomUUID().toString(), "Java example", null, null, attester, code -> {
      System.out.println("enrolment: tell an operator the code " + code);
      approve(code);
    });
    Callgate enrolled = with(phone);
    System.out.println("enrolment: this phone has a credential, and its own token of " + enrolled.token().length() + " characters");
    enrolled.unenrol();
    try {
      with(phone).token();
    } catch (Problem problem) {
      System.out.println("enrolment: afterwards " + told(problem));
    }
  }

  private static void push() throws Exception {
    Callgate.Installation phone = callgate.enrol(UUID.randomUUID().toString(), "Java example", null, "example-app-push", Demo::approve);
    Callgate enrolled = with(phone);
    String device = "java-" + UUID.randomUUID();
    enrolled.register(device, "fcm");
    ExecutorService system = Executors.newSingleThreadExecutor();
    // What the system calls when a push arrives.
    Future<String> delivery = system.submit(() -> {
      String message = pushed(device);
      enrolled.receive(message);
      return message;
    });
    System.out.println("push: a notice came, and a token of " + enrolled.token().length() + " characters");
    try {
      enrolled.receive(delivery.get());
    } catch (Problem problem) {
      System.out.println("push: the same notice once more: " + told(problem));
    }
  }

  /** The message of a device's first push, as the system passes it to the app. */
  private static String pushed(String device) throws Exception {
    Request journal = new Request.Builder().url(base + "/_sandbox/notices").build();
    for (int time = 0; time < 100; time++) {
      try (Response response = new OkHttpClient().newCall(journal).execute()) {
        for (Object one : (List<?>) Json.object(response.body().string()).get("notices")) {
          Map<?, ?> notice = (Map<?, ?>) one;
          boolean isMine = String.valueOf(notice.get("device")).endsWith(device.substring(device.length() - 4));
          if (isMine && notice.get("message") != null) return notice.get("message").toString();
        }
      }
      Thread.sleep(100);
    }
    throw Problem.of(410, "claim_expired");
  }

  private static Callgate with(Callgate.Installation phone) {
    String credential = Credentials.basic(phone.clientId, phone.clientSecret);
    return new Callgate(base, () -> credential, Demo::milliseconds, null, () -> appCheck);
  }

  /** Approves an enrollment, as an operator would. */
  private static void approve(String code) {
    RequestBody body = RequestBody.create(MediaType.parse("application/json"), "{\"user_code\":\"" + code + "\"}");
    Request approval = new Request.Builder().url(base + "/_sandbox/installations/approve").post(body).build();
    try {
      new OkHttpClient().newCall(approval).execute().close();
    } catch (java.io.IOException noSandbox) {
      // Then an operator approves it.
    }
  }

  private static String told(Problem problem) {
    return told(problem.code, problem.text(), problem.action());
  }

  private static String told(Callgate.Outcome outcome) {
    if (outcome.callback != null) return outcome.callback.get("status") + " " + outcome.callback.get("id");
    return outcome.kind.name().toLowerCase() + ", " + told(outcome.problem.code, outcome.text(), outcome.action());
  }

  private static String told(String code, String text, Problem.Action action) {
    return code + ": " + text + " (" + action.name().toLowerCase() + ")";
  }
}

// SPDX-License-Identifier: MIT
package com.example.callgate;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import okio.ByteString;

/**
 * Proves, when the phone enrolls, that it runs the genuine app. In Kotlin, with the provider of Play Integrity's standard requests:
 *
 * <pre>
 * val genuine = Attester.playIntegrity { hash ->
 *     Tasks.await(provider.request(StandardIntegrityTokenRequest.builder().setRequestHash(hash).build())).token()
 * }
 * val phone = callgate.enrol(UUID.randomUUID().toString(), "Shop", null, "shop", genuine) { }
 * </pre>
 */
public final class Attester {
  /** What the phone attests, and the challenge in it, to the member attestation of the request. */
  interface Making {
    Map<String, Object> make(String clientData, String challenge);
  }

  final boolean needsChallenge;
  final Making making;

  private Attester(boolean needsChallenge, Making making) {
    this.needsChallenge = needsChallenge;
    this.making = making;
  }

  /** @param token makes a token of Play Integrity for a requestHash */
  public static Attester playIntegrity(Function<String, String> token) {
    return new Attester(true, (clientData, challenge) -> {
      Map<String, Object> attestation = new LinkedHashMap<>();
      attestation.put("type", "play_integrity");
      attestation.put("token", token.apply(ByteString.encodeUtf8(clientData).sha256().base64Url().replace("=", "")));
      attestation.put("challenge", challenge);
      return attestation;
    });
  }

  /** @param token makes a token of Firebase App Check, not one from the SDK's cache: getAppCheckToken(true) */
  public static Attester appCheck(Supplier<String> token) {
    return new Attester(false, (clientData, challenge) -> {
      Map<String, Object> attestation = new LinkedHashMap<>();
      attestation.put("type", "app_check");
      attestation.put("token", token.get());
      return attestation;
    });
  }
}

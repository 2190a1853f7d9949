// SPDX-License-Identifier: MIT
package com.example.callgate;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import okio.ByteString;

/**
 * This phone's key, which signs a proof for each request (DPoP, RFC 9449). On Android, create it in the Keystore, which its private key never
 * leaves, and load it from there at each start:
 *
 * <pre>
 * KeyPairGenerator generator = KeyPairGenerator.getInstance(KeyProperties.KEY_ALGORITHM_EC, "AndroidKeyStore");
 * generator.initialize(new KeyGenParameterSpec.Builder("callgate", KeyProperties.PURPOSE_SIGN)
 *     .setAlgorithmParameterSpec(new ECGenParameterSpec("secp256r1")).setDigests(KeyProperties.DIGEST_SHA256).build());
 * PhoneKey key = new PhoneKey(generator.generateKeyPair());
 * </pre>
 */
public final class PhoneKey {
  private final KeyPair pair;
  private final Map<String, Object> jwk = new LinkedHashMap<>();

  /** @param pair a P-256 key */
  public PhoneKey(KeyPair pair) {
    this.pair = pair;
    // Members in the order of RFC 7638.
    jwk.put("crv", "P-256");
    jwk.put("kty", "EC");
    jwk.put("x", coordinate(((ECPublicKey) pair.getPublic()).getW().getAffineX()));
    jwk.put("y", coordinate(((ECPublicKey) pair.getPublic()).getW().getAffineY()));
  }

  /** The key's thumbprint (RFC 7638). */
  public String thumbprint() {
    return base64url(ByteString.encodeUtf8(Json.write(jwk)).sha256());
  }

  /**
   * A proof for one request. Each proof works once.
   *
   * @param nonce the server's last nonce, or null
   * @param token the user's JWT, or null
   */
  String proof(String method, String url, String nonce, String token) {
    Map<String, Object> header = new LinkedHashMap<>();
    header.put("typ", "dpop+jwt");
    header.put("alg", "ES256");
    header.put("jwk", jwk);
    Map<String, Object> claims = new LinkedHashMap<>();
    claims.put("jti", UUID.randomUUID().toString());
    claims.put("htm", method);
    claims.put("htu", url.replaceAll("[?#].*", ""));
    claims.put("iat", System.currentTimeMillis() / 1000);
    claims.put("nonce", nonce);
    if (token != null) claims.put("ath", base64url(ByteString.encodeUtf8(token).sha256()));
    String input = base64url(ByteString.encodeUtf8(Json.write(header))) + "." + base64url(ByteString.encodeUtf8(Json.write(claims)));
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(pair.getPrivate());
      signature.update(input.getBytes("UTF-8"));
      return input + "." + base64url(joined(signature.sign()));
    } catch (GeneralSecurityException | java.io.UnsupportedEncodingException error) {
      throw new IllegalStateException("the phone's key cannot sign", error);
    }
  }

  /** The two numbers of a signature in DER, 32 bytes each (RFC 7518 §3.4). */
  private static ByteString joined(byte[] der) {
    int length = der[3];
    BigInteger r = new BigInteger(java.util.Arrays.copyOfRange(der, 4, 4 + length));
    BigInteger s = new BigInteger(java.util.Arrays.copyOfRange(der, 6 + length, der.length));
    return ByteString.decodeHex(hex(r) + hex(s));
  }

  private static String coordinate(BigInteger number) {
    return base64url(ByteString.decodeHex(hex(number)));
  }

  private static String hex(BigInteger number) {
    return String.format("%064x", number);
  }

  private static String base64url(ByteString bytes) {
    return bytes.base64Url().replace("=", "");
  }
}

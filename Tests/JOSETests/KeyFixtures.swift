/// Keys made for these tests by `openssl` and `ssh-keygen`; they open nothing.
enum KeyFixtures {
  /// A P-256 key as PKCS#8.
  static let p256PKCS8 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrTIPBfInAOY4w4NO
    sRXUBI9WkrXngc/elz02bBJrriihRANCAASz1opOJ7GITge81BgYjPfeizJ+hYTG
    LmfLMpLxZKRGn8L/0jtf1LZTJ+gI0i80wRvca+iG8BPl3m6QKI+cA1Ze
    -----END PRIVATE KEY-----
    """

  /// The same key as SEC1.
  static let p256SEC1 = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIK0yDwXyJwDmOMODTrEV1ASPVpK154HP3pc9NmwSa64ooAoGCCqGSM49
    AwEHoUQDQgAEs9aKTiexiE4HvNQYGIz33osyfoWExi5nyzKS8WSkRp/C/9I7X9S2
    UyfoCNIvNMEb3GvohvAT5d5ukCiPnANWXg==
    -----END EC PRIVATE KEY-----
    """

  /// The same key as SEC1 with a compressed point.
  static let p256Compressed = """
    -----BEGIN EC PRIVATE KEY-----
    MFcCAQEEIK0yDwXyJwDmOMODTrEV1ASPVpK154HP3pc9NmwSa64ooAoGCCqGSM49
    AwEHoSQDIgACs9aKTiexiE4HvNQYGIz33osyfoWExi5nyzKS8WSkRp8=
    -----END EC PRIVATE KEY-----
    """

  /// The same key as SEC1 without its public half.
  static let p256WithoutPublic = """
    -----BEGIN EC PRIVATE KEY-----
    MDECAQEEIK0yDwXyJwDmOMODTrEV1ASPVpK154HP3pc9NmwSa64ooAoGCCqGSM49
    AwEH
    -----END EC PRIVATE KEY-----
    """

  /// The same key with the curve spelled out.
  static let p256Explicit = """
    -----BEGIN EC PRIVATE KEY-----
    MIIBaAIBAQQgrTIPBfInAOY4w4NOsRXUBI9WkrXngc/elz02bBJrriiggfowgfcC
    AQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////
    MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57Pr
    vVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEE
    axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54W
    K84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8
    YyVRAgEBoUQDQgAEs9aKTiexiE4HvNQYGIz33osyfoWExi5nyzKS8WSkRp/C/9I7
    X9S2UyfoCNIvNMEb3GvohvAT5d5ukCiPnANWXg==
    -----END EC PRIVATE KEY-----
    """

  /// Its public half.
  static let p256Public = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEs9aKTiexiE4HvNQYGIz33osyfoWE
    xi5nyzKS8WSkRp/C/9I7X9S2UyfoCNIvNMEb3GvohvAT5d5ukCiPnANWXg==
    -----END PUBLIC KEY-----
    """

  /// The same key as PKCS#8, encrypted with a passphrase.
  static let p256Encrypted = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhk1gcRm0QqGgICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJIb+WMoxYseOxHl92iuaDUEgZAT
    uUZVOlJBvnZVPb8CQGCowefHwXL90SZbxii78BoxWc8CT4adX2kM1vCY6aZzdwnx
    SsK0TwrVYJFLIBUKTBQV31ybWW0hbQpRd5Q1JR91/ZbV8/eWL38DkMifie1VVRr5
    xqz02wCUw/Vyo+C7//S53XYwbn8nUVNjMRwMNBc1hYWJNHA5RG3OaCK18YWFZaE=
    -----END ENCRYPTED PRIVATE KEY-----
    """

  /// The same key, encrypted with a passphrase, with the headers of RFC 1421.
  static let p256EncryptedLegacy = """
    -----BEGIN EC PRIVATE KEY-----
    Proc-Type: 4,ENCRYPTED
    DEK-Info: AES-128-CBC,3FA93FFFD83C3429C6D385BFBE05C54B

    T/goU7YHnDwYIUeCo/p7ZqypbFugErDYf8jggwrmtlNSwEo6EMx7ZFWaRHnumSGf
    fDGrTdzYoQpS5a8fw44Lz9P50Vi4AS9Mq8k0Tl2MTDsPqDehfkO+zlgGVpPBfl4N
    lbgdzg/lWs2NMjTJk+0hAAPqS/sHvVlagf16X6pd1fE=
    -----END EC PRIVATE KEY-----
    """

  /// A certificate of the same key.
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBbzCCARWgAwIBAgIUf0HXPhZQhNTV1kV3iQSqLvvDoGgwCgYIKoZIzj0EAwIw
    DDEKMAgGA1UEAwwBYTAgFw0yNjExMjEwMDIyMzZaGA8yMTI2MTAyODAwMjIzNlow
    DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLPWik4nsYhO
    B7zUGBiM996LMn6FhMYuZ8sykvFkpEafwv/SO1/UtlMn6AjSLzTBG9xr6IbwE+Xe
    bpAoj5wDVl6jUzBRMB0GA1UdDgQWBBSfpdIpsw4Y1aiFwZ+HvCxUxKzS9zAfBgNV
    HSMEGDAWgBSfpdIpsw4Y1aiFwZ+HvCxUxKzS9zAPBgNVHRMBAf8EBTADAQH/MAoG
    CCqGSM49BAMCA0gAMEUCIAYhQw8hrmUINlNRfTGn7HC7jVsPrQpCKYNIl4pm+6U8
    AiEAkaxNf1JdhMDkOQtcUqZRnu9SknMkWJLM7fnN8ZP3cvc=
    -----END CERTIFICATE-----
    """

  /// A certificate request of the same key.
  static let certificateRequest = """
    -----BEGIN CERTIFICATE REQUEST-----
    MIHHMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
    BLPWik4nsYhOB7zUGBiM996LMn6FhMYuZ8sykvFkpEafwv/SO1/UtlMn6AjSLzTB
    G9xr6IbwE+XebpAoj5wDVl6gADAKBggqhkjOPQQDAgNJADBGAiEA11WNXu5/9Qhl
    av9LSVfD91vQ9CnIK5vQweF5UMFiTPoCIQDFF9jJq3cXWiAZc/nEF1OiBp4zTIEq
    8veqpTjXyadq7g==
    -----END CERTIFICATE REQUEST-----
    """

  /// Another P-256 key, after a block that names its curve, as `openssl ecparam -genkey` writes it.
  static let withParameters = """
    -----BEGIN EC PARAMETERS-----
    BggqhkjOPQMBBw==
    -----END EC PARAMETERS-----
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIPqFYUY9or87F9yBbrCPnv/fczR6wQ1Iwn+G8E5HRX+SoAoGCCqGSM49
    AwEHoUQDQgAET1T54DxRA2lJOMUYmjeNWIJqcQjZeph4Z0WqgVOPDn1cnEmhSlMN
    uVG5ksmquqsbKgdMNfdefAT457EWnEt37Q==
    -----END EC PRIVATE KEY-----
    """

  /// A P-384 key.
  static let p384 = """
    -----BEGIN PRIVATE KEY-----
    MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBF9a+DsQfmdDN25Gpo
    PPPF3ivlgV08aFEAoklwGeD3iLp6YTeEIgCbj8okdeh0TOihZANiAARlkAEZmhP3
    9J63x66k8B9agmd8Et/kfLIc9uFh363Obkr0aoKGcCnvaF2zkHlfi87cXANJnqkU
    0FL9lnHv2C2TupaFynt1fwpPT8flFF/QHn0vmDXHupJThnxb2suvnnU=
    -----END PRIVATE KEY-----
    """

  /// A key on a curve that this server does not support.
  static let secp256k1 = """
    -----BEGIN PRIVATE KEY-----
    MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgY4TZceXHEB+m629CjzwK
    NqgOsBpG+AazQAp0BUWy0oChRANCAATY+Nv2mz1KaF+xXFx5GtqDu9TkWf7g/sQG
    a426aWVry1TjlcQgucnP+O1AVqapyxTrvjyNSRKsQ8bBSep864cc
    -----END PRIVATE KEY-----
    """

  /// An RSA-2048 key as PKCS#8.
  static let rsa2048 = """
    -----BEGIN PRIVATE KEY-----
    MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDVBdwfhrzFLwGv
    u/aa65UMyokF9B+s6DrDzJGanipO2vbEFYpaBS4WvIkpFj64CxNK0Xr9bsenr+bl
    T2h1hL733pOGxWbbxC1NMkYFV2R68GhYzBwFCHE/TsSX9Mj9C9oQhFUQFuKv+kSU
    mXumePLwwKdqkxROrAxLyJqtClITygcalq2P5CzhIV6BVkRh6PuUc8Agv3hVZlfl
    iX+z5ZlTeO1ioXgNbYpnbo3GVWMgjOuWl2vXrgQDJaMmXuyBIhQ2531iMDRzGwkD
    r057KdJwgxVZjq/dFtW570JKQBnalLuXPYPZPCclP0aipiaP1bzgIsHQg96fKi5x
    wV+BJZkpAgMBAAECggEAAfE0j2e5jtSVtjn9xS4tI0skilSuTI1a/ZtFP65d8IiQ
    skG6655xuMF/QIv5GZFsFS65aXgruZclQQ8f6SqWTHLMibCanLN9kSWkBT5lkAHj
    LHd8ip0bHdKS5z3f+1k/vU52Xi5pPD71+Y/Ex8QnsEmylRDYre1ymMCWpjzkE4i/
    IUV2mEXwECqi2dcB4cxbGnRVxYsUOu/yY5nUVOhCbivqF8Br7irove99PipAZt4i
    jQBVBd9R9d8Vsk4vi90ad7idTVIdw/OHDrAv1zuXmcX3Sse7G+1t/rOwo7egikxG
    YANzixi9L40OjDNWsU05wJdeFpepVk4wIGHWkd7z4QKBgQDwkEYjEKU7jnvHjoBW
    7Niy/jV4gZCOcNoVcGU4RN8C4yBTf7Qbv9b2AFFAGb5gZcTeoAgIjq/7QmV/Uo4m
    VuRCsmXZ6M4Hvz8N/2GB+UIGrIQDd+WD9baD4kV0cVTER9Gi8F5IDSBVB3BkwiJn
    9tceQqnxjUPp7zct7sXlmYRuSQKBgQDisS0tdSynhfO9PUs+rNySJQNeoJYJ0Je6
    92CyGRisQReRxXzUUqB2M1Mqtk6ZHMUbodV63lYuX3+DgvpHInRuKfmqRWrVu9IJ
    gzVgXL8BY2CbYNehCLlT9dpZbZFp2VGVZTbCfLH+khwWMkQEliNCe9/L4LBPh4w/
    9vw5oAdT4QKBgQC/bZ9SUfGaZfSbxQrdoRWDwgRcw4V7w9PXEZyKXUu1aXWU3F8/
    YbY2BeSiBJpY7ULvARvDa4AgiiJoYhJZ8fUsGfgwojApPAd6JQm7utTOqMNYWzVZ
    f9LgOdOZKIISuy/X4Dy2SzO6VfQbSdzFLEjcfKHtZMNxSXl4ZLQ306TteQKBgQCz
    Z3jTkvomElLVn16fWXquhnBmQTy8w8JxCzoReN8X4+PdT6f8+O9Y3EGjeeg2MJil
    x6wFs1QNGzL1R4D/Lvtp+/pEkO99+0i8koR5oKzhUl6wWTINlbPmCJonUBlW5dA1
    JYby4HCVgdiMkHdYEeIRyatR1J50MlgCf1sZ19Y0wQKBgBGdYu57dZ/9ybb9d9e2
    +zNonOZ6W+GAsaKZX8O/tGFEOeVlCjodUbj1snHEUCWimmADcZVl04PhgE92iwbU
    vozpkbT0snXMASN5TI+xpB1X2n/nFeaxBmWnTVGyOuCTIt1VUFoh1jFyFJ8NJVZ3
    yxYRNzTzjr9M+bpy+mOsCHdc
    -----END PRIVATE KEY-----
    """

  /// The same key as PKCS#1.
  static let rsa2048PKCS1 = """
    -----BEGIN RSA PRIVATE KEY-----
    MIIEpAIBAAKCAQEA1QXcH4a8xS8Br7v2muuVDMqJBfQfrOg6w8yRmp4qTtr2xBWK
    WgUuFryJKRY+uAsTStF6/W7Hp6/m5U9odYS+996ThsVm28QtTTJGBVdkevBoWMwc
    BQhxP07El/TI/QvaEIRVEBbir/pElJl7pnjy8MCnapMUTqwMS8iarQpSE8oHGpat
    j+Qs4SFegVZEYej7lHPAIL94VWZX5Yl/s+WZU3jtYqF4DW2KZ26NxlVjIIzrlpdr
    164EAyWjJl7sgSIUNud9YjA0cxsJA69OeynScIMVWY6v3RbVue9CSkAZ2pS7lz2D
    2TwnJT9GoqYmj9W84CLB0IPenyouccFfgSWZKQIDAQABAoIBAAHxNI9nuY7UlbY5
    /cUuLSNLJIpUrkyNWv2bRT+uXfCIkLJBuuuecbjBf0CL+RmRbBUuuWl4K7mXJUEP
    H+kqlkxyzImwmpyzfZElpAU+ZZAB4yx3fIqdGx3Skuc93/tZP71Odl4uaTw+9fmP
    xMfEJ7BJspUQ2K3tcpjAlqY85BOIvyFFdphF8BAqotnXAeHMWxp0VcWLFDrv8mOZ
    1FToQm4r6hfAa+4q6L3vfT4qQGbeIo0AVQXfUfXfFbJOL4vdGne4nU1SHcPzhw6w
    L9c7l5nF90rHuxvtbf6zsKO3oIpMRmADc4sYvS+NDowzVrFNOcCXXhaXqVZOMCBh
    1pHe8+ECgYEA8JBGIxClO457x46AVuzYsv41eIGQjnDaFXBlOETfAuMgU3+0G7/W
    9gBRQBm+YGXE3qAICI6v+0Jlf1KOJlbkQrJl2ejOB78/Df9hgflCBqyEA3flg/W2
    g+JFdHFUxEfRovBeSA0gVQdwZMIiZ/bXHkKp8Y1D6e83Le7F5ZmEbkkCgYEA4rEt
    LXUsp4XzvT1LPqzckiUDXqCWCdCXuvdgshkYrEEXkcV81FKgdjNTKrZOmRzFG6HV
    et5WLl9/g4L6RyJ0bin5qkVq1bvSCYM1YFy/AWNgm2DXoQi5U/XaWW2RadlRlWU2
    wnyx/pIcFjJEBJYjQnvfy+CwT4eMP/b8OaAHU+ECgYEAv22fUlHxmmX0m8UK3aEV
    g8IEXMOFe8PT1xGcil1LtWl1lNxfP2G2NgXkogSaWO1C7wEbw2uAIIoiaGISWfH1
    LBn4MKIwKTwHeiUJu7rUzqjDWFs1WX/S4DnTmSiCErsv1+A8tkszulX0G0ncxSxI
    3Hyh7WTDcUl5eGS0N9Ok7XkCgYEAs2d405L6JhJS1Z9en1l6roZwZkE8vMPCcQs6
    EXjfF+Pj3U+n/PjvWNxBo3noNjCYpcesBbNUDRsy9UeA/y77afv6RJDvfftIvJKE
    eaCs4VJesFkyDZWz5giaJ1AZVuXQNSWG8uBwlYHYjJB3WBHiEcmrUdSedDJYAn9b
    GdfWNMECgYARnWLue3Wf/cm2/XfXtvszaJzmelvhgLGimV/Dv7RhRDnlZQo6HVG4
    9bJxxFAloppgA3GVZdOD4YBPdosG1L6M6ZG09LJ1zAEjeUyPsaQdV9p/5xXmsQZl
    p01RsjrgkyLdVVBaIdYxchSfDSVWd8sWETc0846/TPm6cvpjrAh3XA==
    -----END RSA PRIVATE KEY-----
    """

  /// Its public half.
  static let rsa2048Public = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1QXcH4a8xS8Br7v2muuV
    DMqJBfQfrOg6w8yRmp4qTtr2xBWKWgUuFryJKRY+uAsTStF6/W7Hp6/m5U9odYS+
    996ThsVm28QtTTJGBVdkevBoWMwcBQhxP07El/TI/QvaEIRVEBbir/pElJl7pnjy
    8MCnapMUTqwMS8iarQpSE8oHGpatj+Qs4SFegVZEYej7lHPAIL94VWZX5Yl/s+WZ
    U3jtYqF4DW2KZ26NxlVjIIzrlpdr164EAyWjJl7sgSIUNud9YjA0cxsJA69OeynS
    cIMVWY6v3RbVue9CSkAZ2pS7lz2D2TwnJT9GoqYmj9W84CLB0IPenyouccFfgSWZ
    KQIDAQAB
    -----END PUBLIC KEY-----
    """

  /// Its public half as PKCS#1.
  static let rsa2048PublicPKCS1 = """
    -----BEGIN RSA PUBLIC KEY-----
    MIIBCgKCAQEA1QXcH4a8xS8Br7v2muuVDMqJBfQfrOg6w8yRmp4qTtr2xBWKWgUu
    FryJKRY+uAsTStF6/W7Hp6/m5U9odYS+996ThsVm28QtTTJGBVdkevBoWMwcBQhx
    P07El/TI/QvaEIRVEBbir/pElJl7pnjy8MCnapMUTqwMS8iarQpSE8oHGpatj+Qs
    4SFegVZEYej7lHPAIL94VWZX5Yl/s+WZU3jtYqF4DW2KZ26NxlVjIIzrlpdr164E
    AyWjJl7sgSIUNud9YjA0cxsJA69OeynScIMVWY6v3RbVue9CSkAZ2pS7lz2D2Twn
    JT9GoqYmj9W84CLB0IPenyouccFfgSWZKQIDAQAB
    -----END RSA PUBLIC KEY-----
    """

  /// An RSA key that is too short.
  static let rsa1024 = """
    -----BEGIN PRIVATE KEY-----
    MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAM2gPkM+dUmZISQv
    /oc+gJigNodbTOnYJ4UWjcoyOoUbdh+Xx8L/2MJpbHUYr2UZeVmVat0ClxkQ9GjU
    dcy6tDxYro1AmPa1yTzkYcfOOVRZyGC8xn/gfPNg74OR1OtotJJElOTuc0m/vSpT
    8Xez1ZmivKT1CKy+l8ktiFClzSl/AgMBAAECgYAK6y9jMrXXqqHv4fyKAe+iKx+6
    IEb9Q9UVZBUzX2dsGgEzvEOHPz6rVB3GOgFWRPwEncKG6dRMKHJR/rYioOdhFIPt
    3VOrq3apqJwdxzwudWKCUzN0BYSqLzU8Vj/d0+wSISdEIBs3GMqRWqEJ0PgXqaea
    vfudnOW27uMQRKOAwQJBAPfuFPpogii2zCdWf6ZFFe9CCt6cm+hzdx3DFMARtETm
    vhzDUp2iS7Xoian10Upzz+B8ndptwx+lgAr2syrslyUCQQDUUafZypIKQI43nfA4
    4Gd/DR/kzPa6yC7iHN73tMqTev4kxgBplQX7lX/p9ELOdu2HdBTRKaerphYvXnox
    CV7TAkEAg9u8jn0clFi79UP8ucpOYyQlscVq6dLXDB4foBMKZAawH44GF04kpAeb
    h6fz+nvjmAnOzkfIGcGkerBAE9kmfQJAbF4JGAZmp8jvTb/VHpKbAKQIRVXAEPGf
    zFUEENY8Fy5NjSNqjnk7hn91vEmp14uoDNzYyzFBnUC2ThMgtuqbdQJBAM4JV7t7
    cVNTs8IEJp1DoTn5sVMRKCCIb1il3sujzWohFPU3ho11z3EVVcDGUP2yt/7G01Tw
    2zyngeaCGufs1pk=
    -----END PRIVATE KEY-----
    """

  /// An RSA key restricted to PSS.
  static let rsaPSS = """
    -----BEGIN PRIVATE KEY-----
    MIIEugIBADALBgkqhkiG9w0BAQoEggSmMIIEogIBAAKCAQEAu45NZqoP6QYsqAEY
    tFsQrdtw2qwzZMkyylL4zopSR/UQVVsXWkeGZbpgCt8rusC93SWjKuBaetpoAhdb
    NFCd9HyBhDOvD4mWtpO0IWSrduNzAAT0hvTnfVXAK/vswzv4sgX1vqt6aXx1PGkq
    G6/rKLQiDvMSmZIDdMuEOgoaF6C52F8aGwNhmDtF76aKNZfIWNqvTUOB33jI7SRI
    FQtcjn/17InuZJXjwpZ6b3os8z3bkDPbxFA35rt4HjxdtGU9j9N3FdynKrqpCtCO
    Kv2ImA0H6P6iTRVlkiAAQO0ffjZhZlAskj8LNkaz5rA1eIIwe1D6phhL+bqqcjYg
    A4L//wIDAQABAoIBADedi1shm6UsNQq+hH5asJf1RcI6JOVCeiKftvK79okq5KSC
    5epZ4kMBIKCoq7VtmP9ePUOmEn5yjDvuhBd/vk70qo0yrDsNwBi0tMngKa4P5RaA
    4aexMIGsb1c7lWoROv5DIStgeuSTyMnYn2llYXSI8b6AGqhaMVctUDDLtRADEV/w
    QpLdQ3+KdMTP67rNuG3wkBqQRakLF9DHpnj+sA5s83cPV7ByioFPf7RKkJE/ILJr
    FyEt+HGWzeIN9pUOQ/3AQvgbyZDskSWPh3dkVWwnkrvJ5yhjG26pZikhZd88gc5U
    1t2xgKt3ICGsBVYBuy3dZJIujXUF3UVnAWeXimUCgYEA59WiSQU8TT+GuW8C/U+R
    vZwC2XbxOrIqMFB0ZwyrkDfurLruaiFgstjTHZvMMiyktohM5zFzqAU2EaHeXDlG
    4mTUXXeQu8+Wnd6azCCFJmrhxi2GDVgkZJT18ms6HEjwAuH7DUwu5OpHrKf1giio
    bIkheSJmOFCf7PJQP6OKRZ0CgYEAzxsehzwgdFJou8A/2ViIHD/Nyku94TnZ4KNH
    10auVfFzUzfoIob7AYgGaeQLLmxrQ21gqUkjB7JEDH7VJfoR7TmMqYX4EEH8Jdwa
    FLQM8ib9pyJgsW7rzYf4xOUO8PEZVGie9HeYhQZ27BkPCOJazpNTLfnewGsnURMc
    USRll0sCgYAR2oLn6q5NKKJAb4skZNdNadFSW/WR1pynIdsFAJXJwnTv+mlX5QAk
    ZcxEUHY2OvfoUrDRcR5+BwC19OhB4+tQjgFIvWd4/zCTMcxsAekfH0YJ1AGpz2rm
    EA6sv5M3EGrjXfHOgVpvKJeidUDT6DuoOBtKz9pdZeAbCEIj1H1WhQKBgASatL4K
    7ynG3z81UfYSCsyd+oRB1NHaCGb/GkzF7IBKoua5unZyC8iH7qSSBlGc5XGVT+3T
    i2zTYMHqW/DBM37TpbXrHY22+dUZpJbLPfJwPXlmwUGQlrt2B2jRMtjWc1q2DLqg
    ogprD1/GWtg2uBAZpGLESFh8yV37D8kaBwwrAoGADw4xfMrrOu2W7U4op0RvTGrO
    rXufsNrqqDzqilHIKBWKlPHBA5tvI+1DN6mGRQfUJxi1I0BiVtslVycrCoad2ULZ
    pMyL0gKokdkoku3vVKNuU8bxvIjVI+vRwEZKSsFWdbF3xcItAh75i0ze91bvgLcO
    vWNKcRLrZ/fO/XckCVY=
    -----END PRIVATE KEY-----
    """

  /// An Ed25519 key.
  static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIB45AeZIPzCgexaq2PMxoLfFbnyfRRJtcrzjVWaYkb1T
    -----END PRIVATE KEY-----
    """

  /// A key for key agreement, which cannot sign.
  static let x25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VuBCIEIDjAy+qYeY699my5Zs7hDomj3eTqVHgPjOTYONABOJJk
    -----END PRIVATE KEY-----
    """

  /// A key in OpenSSH's own form.
  static let openSSH = """
    -----BEGIN OPENSSH PRIVATE KEY-----
    b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
    QyNTUxOQAAACDInF87yvKUg8ho+R3lTmlrngsG9M8MsDBeIpDN60itGQAAAJCdjYD+nY2A
    /gAAAAtzc2gtZWQyNTUxOQAAACDInF87yvKUg8ho+R3lTmlrngsG9M8MsDBeIpDN60itGQ
    AAAEDYQxaTXOvxnyUGdp44ca4JWqskcYxl/1LM2M8RBaA9KsicXzvK8pSDyGj5HeVOaWue
    Cwb0zwywMF4ikM3rSK0ZAAAAB3Jvb3RAdm0BAgMEBQY=
    -----END OPENSSH PRIVATE KEY-----
    """
}

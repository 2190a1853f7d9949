// Copies the parts of an HTTP request that the emulator's endpoints read.

import HTTP

extension Call {
  private static let webhookID = FieldName("webhook-id")
  private static let webhookTimestamp = FieldName("webhook-timestamp")
  private static let webhookSignature = FieldName("webhook-signature")
  private static let apiTokenField = FieldName("Api-Token")
  private static let deskTokenField = FieldName("SENDBIRDDESKAPITOKEN")

  init(_ request: borrowing Request) {
    method = request.method
    contentTypes = request.values(of: .contentType).map(request.string)
    authorizations = request.values(of: .authorization).map(request.string)
    apiToken = request.text(of: Self.apiTokenField)
    deskToken = request.text(of: Self.deskTokenField)
    host = request.text(of: .host)
    userAgent = request.text(of: .userAgent)
    traceparent = request.text(of: .traceparent)
    isOfForeignPage = request.isOfForeignPage
    hasForeignOrigin = request.hasForeignOrigin
    webhook = Webhook(
      id: request.text(of: Self.webhookID), timestamp: request.text(of: Self.webhookTimestamp),
      signature: request.text(of: Self.webhookSignature))
    content = request.content
  }
}

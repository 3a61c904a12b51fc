"""Programs that know gRPC, and nothing of this package, find and call the service."""

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

SERVICE = "tessera.bus.v1.Bus"


def test_reflection_describes_the_service(server):
    with grpc.insecure_channel(server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert SERVICE in database.get_services()
        pool = descriptor_pool.DescriptorPool(database)
        service = pool.FindServiceByName(SERVICE)

        def call(name, **fields):
            method = service.FindMethodByName(name)
            request = message_factory.GetMessageClass(method.input_type)
            reply = message_factory.GetMessageClass(method.output_type)
            make = channel.unary_stream if method.server_streaming else channel.unary_unary
            call = make(
                f"/{SERVICE}/{name}",
                request_serializer=request.SerializeToString,
                response_deserializer=reply.FromString,
            )
            return call(request(**fields))

        client = call("Connect").client
        call("RegisterSender", client=client, message_type=1)
        call("RegisterReceiver", client=client, message_type=1)
        sent = call("Send", sender=client, message_type=1, any=True, body=b"from a tool")
        [piece] = call("Receive", client=client)
        assert [(m.key.id, m.body) for m in piece.messages] == [(sent.id, b"from a tool")]
        assert call("Delete", client=client, messages=[piece.messages[0].key]).count == 1
        try:
            call("Send", sender=client, message_type=2, any=True)
            raise AssertionError("the type is not registered")
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
            assert ("bus-status", "3") in error.trailing_metadata()


def test_health_is_that_of_grpc(server):
    with grpc.insecure_channel(server.address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        reply = health.Check(health_pb2.HealthCheckRequest(service=SERVICE))
        assert reply.status == health_pb2.HealthCheckResponse.SERVING

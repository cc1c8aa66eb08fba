# expected: iterative
# program: python3
exec python3 -c '
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = listener.accept()
    with connection:
        while data := connection.recv(4096):
            connection.sendall(data)' "$PORT"

# expected: hybrid
# program: java
cat > "$DIR/Server.java" <<E
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
public class Server {
    public static void main(String[] words) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", $PORT), 300);
        server.setExecutor(Executors.newFixedThreadPool(20));
        server.createContext("/", request -> {
            request.sendResponseHeaders(200, 2);
            request.getResponseBody().write("ok".getBytes());
            request.close();
        });
        server.start();
    }
}
E
exec java "$DIR/Server.java"
